//go:build !windows

package web_test

import (
	"slices"
	"testing"

	"github.com/toskose/toskose/e2e/browser"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
)

// Each component and each execution has an address that opens it for whoever has got it
// from somebody else, and the page itself has a link to it.
func TestEverythingHasAnAddress(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL+"/#/goal", 1280, nobody)
	b.SignIn("admin", "pw")
	b.Click(".choice")
	b.Says(".plan", "The plan: 9 operations")
	b.Click(".editor button.main")
	b.Says(".lead", "is reached")
	linked := func(view, ready string) []string {
		b.GoTo(view)
		b.Says("main", ready)
		return browser.Ask[[]string](b, `[...document.querySelectorAll('main a[href]')].map(a => a.getAttribute('href'))`)
	}
	addresses := map[string][2]string{} // what opens, where, and what else is said there
	drawn, listed := linked("#/", "Topology of thinking"), linked("#/components", "Memory")
	for _, n := range world.app.Nodes(t.Context(), manager.StatesOnly) {
		for _, c := range n.Components {
			at := "#/component/" + n.Name + "/" + c.Name
			addresses[at] = [2]string{c.Name, "in " + n.Name}
			if !slices.Contains(drawn, at) || !slices.Contains(listed, at) {
				t.Errorf("nothing leads to %s: %q, %q", at, drawn, listed)
			}
		}
	}
	past, err := world.app.History(t.Context(), rest.HistoryQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	happened := linked("#/activity", "logsniffer start")
	for _, x := range past.Executions {
		at := "#/execution/" + x.ID
		addresses[at] = [2]string{x.Component + " " + x.Operation, x.Runs[0].Replica}
		if !slices.Contains(happened, at) {
			t.Errorf("nothing leads to %s: %q", at, happened)
		}
	}
	if len(addresses) != 12 {
		t.Errorf("%d addresses of 3 components and 9 executions", len(addresses))
	}
	for at, says := range addresses {
		b.GoTo("#/nothing")
		b.Says("h1", "no such view")
		b.GoTo(at)
		b.Reload()
		b.Await(`document.querySelector('.panel h1, .execution h1')?.textContent === ` + quoted(says[0]))
		b.Says(".panel, .execution", says[1])
	}
}
