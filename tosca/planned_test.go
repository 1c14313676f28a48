package tosca_test

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/tosca"
)

// TestDocumentsArePlannedUpAndDown plans each document from nothing to
// everything up and back, and checks the plans that it brings from nothing.
func TestDocumentsArePlannedUpAndDown(t *testing.T) {
	t.Parallel()
	cases(t, "planned", func(t *testing.T, c *testCase) {
		app, list, err := tosca.Load(t.Context(), c.archive, tosca.Options{Inputs: c.inputs})
		if err != nil {
			t.Fatal(err)
		}
		c.expect(t, list)
		var out bytes.Buffer
		elements := plan.Elements(app)
		up, notes := plan.Up(elements, nil)
		out.WriteString(planText(t, plan.Problem{Elements: elements, Goal: up, Notes: notes}))
		out.WriteString(planText(t, plan.Problem{Elements: elements, From: up, Goal: plan.Down(elements)}))
		for _, f := range c.txt.Files {
			if ext := path.Ext(f.Name); strings.Contains(f.Name, "/") || ext != ".plan" && ext != ".csv" {
				continue
			}
			operations, _, err := plan.Read(bytes.NewReader(f.Data))
			if err != nil {
				t.Fatal(err)
			}
			outcome, err := plan.Check(plan.Problem{Elements: elements}, operations)
			var refusal *plan.Refusal
			switch {
			case errors.As(err, &refusal):
				fmt.Fprintf(&out, "\n%s is refused: %v\n", f.Name, err)
			case err != nil:
				t.Fatal(err)
			default:
				fmt.Fprintf(&out, "\n%s: %s", f.Name, outcome.Text(app.Name))
			}
		}
		golden(t, strings.TrimSuffix(c.path, ".txtar")+".txt", out.Bytes())
	})
}

// planText makes a plan, which the rules must allow.
func planText(t *testing.T, p plan.Problem) string {
	t.Helper()
	made, err := plan.Make(t.Context(), p, plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var operations []plan.Operation
	for _, s := range made.Steps() {
		operations = append(operations, s.Operation)
	}
	if out, err := plan.Check(p, operations); err != nil || len(out.Unmet) > 0 {
		t.Errorf("the plan is refused: %v, %v", err, out)
	}
	text, err := made.Format("text", "app")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
