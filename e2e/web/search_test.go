//go:build !windows

package web_test

import (
	"testing"

	"github.com/toskose/toskose/e2e/browser"
)

// Everything is found by keyboard.
func TestThePageSearches(t *testing.T) {
	world := newThinking(t)
	world.run(t, "backend", "api", "create")
	b := browser.Open(t, world.URL+"/#/goal", 1440, nobody)
	b.SignIn("olga", "olga's password")
	b.Says("h1", "Goal")
	b.Await(`!!document.querySelector('.choice')`)
	for _, want := range []struct{ keys, first, leads string }{
		{"gui", "gui", "#/component/frontend/gui"},
		{"container backend", "backend", "#/components?in=backend"},
		{"api push", "api api_interface.push_default", "#/component/backend/api?operation=api_interface.push_default"},
		{"execution api", "api create", "#/execution/"},
		{"log of logs", "log of logsniffer", "#/logs?of="},
		{"plan down", "Plan to take everything down", "#/goal"},
	} {
		b.Press("/")
		b.Await(`document.activeElement.getAttribute('role') === 'combobox'`)
		b.Press(want.keys)
		b.Says(".palette [aria-selected=true] .name", want.first)
		b.Press("\r")
		b.Await(`!document.querySelector('.palette') && location.hash.startsWith("` + want.leads + `")`)
	}
	b.Says(".plan", "Nothing has to be done")
	b.Ask(`dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true}))`)
	b.Await(`!!document.querySelector('.palette')`)
	b.Press("api")
	b.Says(".palette", "operation")
	b.Look("search")
	b.Named()
	first := browser.Ask[string](b, `document.querySelector('.palette [aria-selected=true]').textContent`)
	b.Ask(`document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true, cancelable: true}))`)
	b.Await(`document.querySelector('.palette [aria-selected=true]').textContent !== ` + "`" + first + "`")
	b.Press("\u001b")
	b.Await(`!document.querySelector('.palette')`)
	if at := browser.Ask[string](b, `location.hash`); at != "#/goal" {
		t.Errorf("it leads to %s", at)
	}
	b.GoTo("#/component/backend/api")
	b.Says(".copy code", "toskose exec api")
	b.Named()
}
