//go:build !windows

package web_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/e2e/browser"
)

// Who uses the keyboard comes to everything, sees where they are, and is where they were
// when a component is closed.
func TestTheTabulatorComesToEverything(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL, 1280, nobody)
	b.SignIn("admin", "pw")
	b.Says("[data-box=api]", "not created")
	all := b.Focused(40)
	for _, want := range []string{"Skip to the content", "Components", "no goal", "Sign out", "Fit", "api", "gui"} {
		if !slices.ContainsFunc(all, func(what string) bool { return strings.Contains(what, want) }) {
			t.Errorf("the tabulator does not come to %q: %q", want, all)
		}
	}
	b.GoTo("#/component/backend/api")
	b.Await(`document.activeElement.matches('.panel h1')`)
	b.Focused(40)
	b.GoTo("#/goal")
	b.Await(`!!document.querySelector('.choice')`)
	b.Focused(40)
}

// All that is done with a mouse elsewhere is done with keys here, and with nothing else.
func TestThePageWithTheKeyboardOnly(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL, 1280, nobody)
	b.Await(`document.activeElement.name === 'password'`)
	b.Press("pw\r")
	b.Says("[data-box=api]", "not created")

	b.TabTo("a Skip to the content")
	b.Press("\r")
	b.Await(`document.activeElement.id === 'main'`)
	b.TabTo("a Goal")
	b.Press("\r")
	b.Says("h1", "Goal")
	b.TabTo("button all up")
	b.Press(" ")
	b.Says(".plan", "The plan: 9 operations")
	b.TabTo("summary Single components")
	b.Press("\r")
	b.TabTo("select State of gui")
	b.Press("down") // what begins so is chosen
	b.Says(".plan", "The plan: 6 operations")
	b.TabTo("button Set this goal")
	b.Press("\r")
	b.Says(".lead", "up gui=down is reached")

	b.TabTo("a Topology")
	b.Press("\r")
	b.Says("[data-box=api]", "running")
	b.Ask(`window.scaled = document.querySelector('.sheet').style.transform`)
	b.TabTo("button Zoom in")
	b.Press(" ")
	b.Await(`document.querySelector('.sheet').style.transform !== window.scaled`)
	b.TabTo("button Fit")
	b.Press(" ")
	b.TabTo("a api: running")
	b.Press("\r")
	b.Await(`document.activeElement.matches('.panel h1')`)
	b.TabTo("summary All operations")
	b.Press("\r")
	b.TabTo("button stop")
	b.Press(" ")
	b.Says(".panel .now", "configured")
	b.TabTo("button Resume")
	b.Press("\r")
	b.Says(".panel .now", "running")
	b.Press("\u001b")
	b.Await(`document.activeElement.dataset.box === 'api'`)
	b.TabTo("a gui: not created")
	b.Press("\r")
	b.Says(".panel h1", "gui")
	b.TabTo("a Close")
	b.Press("\r")
	b.Await(`document.activeElement.dataset.box === 'gui'`)

	b.TabTo("a Logs")
	b.Press("\r")
	b.Says(".lines", "api: start and listening")
	b.TabTo("input text")
	b.Press("sniffer\r")
	b.Says(".lines mark", "sniffer")
	b.TabTo("a Activity")
	b.Press("\r")
	b.TabTo("a api stop")
	b.Press("\r")
	b.Says("h1", "api stop")
	b.TabTo("button Sign out")
	b.Press(" ")
	b.Await(`!!document.querySelector('form.signin')`)
}
