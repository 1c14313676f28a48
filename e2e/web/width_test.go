//go:build !windows

package web_test

import (
	"os"
	"testing"

	"github.com/toskose/toskose/e2e/browser"
)

// A wide window has activity beside the drawing; a phone has a list by container first, and the drawing on demand.
func TestThePageUsesItsWidth(t *testing.T) {
	world := newThinking(t)
	if err := os.WriteFile(world.fails, []byte("api.configure\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t, world.URL, 1440, nobody)
	b.SignIn("olga", "olga's password")
	b.ClickText(".nothing button", "Bring everything up")
	b.Says(".side .timeline", "logsniffer start")
	b.Says(".trouble", "not tried again")
	beside := browser.Ask[bool](b, `document.querySelector('.side').getBoundingClientRect().left >= document.querySelector('.canvas').getBoundingClientRect().right && document.querySelector('.side').getBoundingClientRect().top < 200`)
	if !beside {
		t.Error("activity is not beside the drawing")
	}
	b.Await(`!document.querySelector('#said p')`)
	b.Look("width")
	b.Resize(768)
	b.Await(`!document.querySelector('.side') && !!document.querySelector('.latest')`)
	b.Resize(320)
	b.Await(`!document.querySelector('.canvas')`)
	b.Says(".by-container section:nth-of-type(1) h2", "backend") // in trouble
	b.Says(".by-container [data-tone=bad] .because", "configure failed")
	b.Says(".by-container", "store")
	b.ClickText(".by-container button", "Show the graph")
	b.Says("[data-box=api]", "api")
	b.Await(`!!document.querySelector('.canvas')`)
	b.Look("phone-graph")
	b.ClickText(".zoom button", "List")
	b.Click(".by-container a[data-box=api]")
	b.Says(".panel h1", "api")
	if wide := browser.Ask[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
		t.Errorf("%d pixels are beside a screen of 320", wide)
	}
	b.Press("\u001b")
	b.Await(`document.activeElement.dataset.box === 'api'`)
	b.GoTo("#/components?in=backend")
	b.Says("h1", "Components in backend")
	b.Await(`document.querySelectorAll('tbody tr').length === 2`)
}
