//go:build !windows

package web_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/e2e/browser"
	"github.com/toskose/toskose/manager"
)

// cutOff is what the page is told where the test ends its connections.
var cutOff = []string{"net::ERR_EMPTY_RESPONSE /*", "net::ERR_INCOMPLETE_CHUNKED_ENCODING /api/v1/*"}

// A stream goes on after the last that it has said, whether the connection is there again at
// once or later: what has happened meanwhile is told, and nothing is told twice.
func TestThePageComesBack(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL+"/#/activity", 1280, nobody)
	b.SignIn("admin", "pw")
	b.Says(".activity", "Nothing was executed")
	lines := browser.Open(t, world.URL+"/#/logs", 1280, nobody)
	lines.SignIn("vera", "vera's password")
	for _, w := range []*browser.Window{b, lines} {
		w.ExpectMany(cutOff...)
	}
	world.run(t, "backend", "api", "create")
	lines.Says(".lines", "api: create")

	world.CloseClientConnections() // and is there again at once
	world.run(t, "backend", "api", "configure")
	lines.Says(".lines", "api: configure")
	world.units["frontend"].Kill()
	b.Says(".timeline", "frontend does not answer")

	b.GoTo("#/component/backend/api")
	b.Says(".own-log", "api: configure")
	before := [][]int{hidden(b, 1440), hidden(lines, 768, 1440)}
	world.away.Store(true)
	world.CloseClientConnections()
	b.Says(".offline", "No connection")
	b.Picture("offline")
	lines.Says(".offline", "No connection")
	if now := [][]int{hidden(b, 1440), hidden(lines, 768, 1440)}; !reflect.DeepEqual(now, before) {
		t.Errorf("what is said of the connection moves the page: %v pixels of it are below the window, and were %v", now, before)
	}
	b.GoTo("#/activity")
	world.run(t, "backend", "logsniffer", "create")
	back := world.app.Events("")
	world.units["frontend"].Crash()
	for answers := false; !answers; {
		events, err := back(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		answers = slices.ContainsFunc(events, func(e manager.Event) bool { return e.Kind == "reachable" && e.Node == "frontend" })
	}
	world.away.Store(false)
	b.Await(`!document.querySelector('.offline')`)
	b.Says(".timeline", "frontend answers again")
	b.Says(".timeline", "logsniffer create")
	const told = `[...document.querySelectorAll('.timeline li:not(.day)')].map(e => e.querySelector('b').parentElement.textContent)`
	once(t, "what happened", browser.Ask[[]string](b, told), "frontend does not answer", "frontend answers again", "api create", "api configure", "logsniffer create")
	lines.Await(`!document.querySelector('.offline')`)
	lines.Says(".lines", "logsniffer: create")
	const written = `[...document.querySelectorAll('.lines p.stdout')].map(e => e.textContent.replace(/^.*(api|logsniffer): /, '$1 '))`
	once(t, "lines", browser.Ask[[]string](lines, written), "api create", "api configure", "logsniffer create")
}

// hidden returns how much of a page is below its window, at some widths.
func hidden(b *browser.Window, widths ...int64) (all []int) {
	for _, width := range widths {
		b.Resize(width)
		all = append(all, browser.Ask[int](b, `document.documentElement.scrollHeight - innerHeight`))
	}
	return all
}

// once fails unless each text is there once.
func once(t *testing.T, what string, all []string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		n := 0
		for _, text := range all {
			if strings.TrimSpace(text) == want {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s: %q is there %d times: %q", what, want, n, all)
		}
	}
}
