package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/spec/plan"
)

// Plan prints the operations that bring the running application to a goal: a state of all
// components, and states by name.
func (m *Manager) Plan(ctx context.Context, streams cli.Streams, state string, states map[string]string, format string) error {
	return m.Ask(func(c *client.Client) error {
		app, err := c.App(ctx)
		if err != nil {
			return err
		}
		answer, err := c.Plan(ctx, state, states)
		if err != nil {
			return err
		}
		for _, o := range answer.Obstacles {
			fmt.Fprintln(streams.Err, "obstacle: "+visible.Text(o.String()))
		}
		if answer.Plan == nil {
			return fmt.Errorf("there is no plan\n%s", strings.Join(answer.Notes, "\n"))
		}
		made, err := steps(answer.Plan)
		if err != nil {
			return err
		}
		made.Notes = append(made.Notes, answer.Notes...)
		out, err := FormatPlan(made, format, app.Name)
		if err != nil {
			return err
		}
		_, err = streams.Out.Write(out)
		return err
	})
}

// FormatPlan returns a plan in a format of the planner, or as YAML.
func FormatPlan(made *plan.Plan, format, application string) ([]byte, error) {
	if format != "yaml" {
		return made.Format(format, application)
	}
	out, err := made.Format("json", application)
	if err != nil {
		return nil, err
	}
	return cli.AsYAML(out)
}

// steps converts a plan of the manager to one of the planner; both have the same JSON.
func steps(from *client.Steps) (*plan.Plan, error) {
	text, err := json.Marshal(from)
	var made plan.Plan
	if err = errors.Join(err, json.Unmarshal(text, &made)); err != nil {
		return nil, fmt.Errorf("cannot read the manager's plan: %w", err)
	}
	return &made, nil
}
