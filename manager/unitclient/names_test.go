package unitclient_test

import (
	"errors"
	"testing"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

// TestCallersKnowComponentsByALongerName: in whatever a unit is asked and answers.
func TestCallersKnowComponentsByALongerName(t *testing.T) {
	t.Parallel()
	u := &fakeunit.Unit{Instance: "i1", Operations: map[string]map[string]fakeunit.Operation{"app": {
		"Program.start": {From: []string{"stopped"}, End: fakeunit.End{Target: "running"}},
	}}}
	c := newClient(t, u.Start(t, map[string]string{"app": "stopped"}), unitclient.Limits{}).Prefixed("web/")
	x, err := c.Execute(t.Context(), wire.ExecuteRequest{ID: "x1", Component: "web/app", Operation: "Program.start"})
	if err != nil || x.Component != "web/app" {
		t.Fatalf("executed %+v, %v", x, err)
	}
	if x, err = c.Execution(t.Context(), "x1", 0); err != nil || x.Component != "web/app" {
		t.Errorf("the execution: %+v, %v", x, err)
	}
	_, err = c.Execute(t.Context(), wire.ExecuteRequest{ID: "x2", Component: "web/app", Operation: "Program.start"})
	var fault *wire.Fault
	if !errors.As(err, &fault) || fault.Component == nil || fault.Component.Name != "web/app" {
		t.Errorf("the refusal: %v", err)
	}
	if s, err := c.Components(t.Context(), false); err != nil || s.Components[0].Name != "web/app" {
		t.Errorf("the states: %+v, %v", s, err)
	}
	for _, cursor := range []string{"", unitclient.Now} {
		page, err := c.Journal(t.Context(), cursor, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			var names []string
			if e.Kind != wire.EntryBoot && e.Kind != wire.EntryHello {
				names = append(names, e.Component)
			}
			if e.Execution != nil {
				names = append(names, e.Execution.Component)
			}
			for _, of := range e.Components {
				names = append(names, of.Component, of.Recent[0].Component)
			}
			for _, name := range names {
				if name != "web/app" {
					t.Errorf("%q in entry %+v", name, e)
				}
			}
		}
	}
	if got := u.Executed(); len(got) != 1 || got[0] != "app:Program.start" {
		t.Errorf("the unit executed %q", got)
	}
}
