package manager_test

import (
	"slices"
	"testing"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
)

// Views are kept: what another container changes for a component must be seen, too.
func TestAllStatesFollowWhatAnotherContainerOffers(t *testing.T) {
	t.Parallel()
	app, _, _ := withGUI(t)
	gui := func() rest.Component {
		all := app.App(t.Context(), manager.StatesOnly).Components
		return all[slices.IndexFunc(all, func(c rest.Component) bool { return c.Name == "gui" })]
	}
	if c := gui(); slices.Contains(c.Allowed, "Standard.start") {
		t.Errorf("without api, gui is %+v", c)
	}
	for _, req := range []rest.RunRequest{startAPI, startGUI} {
		if _, err := run(t, app, req); err != nil {
			t.Fatal(err)
		}
	}
	if c := gui(); c.State != "started" || c.Lacks != nil {
		t.Errorf("with api, gui is %+v", c)
	}
	if _, err := run(t, app, stopAPI); err != nil {
		t.Fatal(err)
	}
	if c := gui(); len(c.Lacks) != 1 {
		t.Errorf("without api again, gui is %+v", c)
	}
}
