//go:build !windows

package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toskose/toskose/e2e/browser"
)

// Where nothing is up, the page offers to bring everything up, or to show how.
func TestThePageBringsEverythingUp(t *testing.T) {
	world := newThinking(t)
	v := browser.Open(t, world.URL, 1280, nobody)
	v.SignIn("vera", "vera's password")
	v.Says(".nothing", "operators may")
	v.Await(`document.querySelector('.nothing button.main')?.disabled`)
	b := browser.Open(t, world.URL, 1440, nobody)
	b.SignIn("olga", "olga's password")
	b.Says(".nothing", "Nothing is up yet")
	b.Look("nothing-up")
	b.ClickText(".nothing button", "See the plan")
	b.Says(".plan", "The plan: 9 operations")
	b.Await(`location.hash === '#/goal'`)
	b.GoTo("#/")
	b.ClickText(".nothing button", "Bring everything up")
	b.Says("[data-box=gui]", "running")
	b.Await(`!document.querySelector('.nothing')`)
}

// A component has one button for what is done most. Deleting is confirmed first.
func TestThePageHasOnePrimaryOperation(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL+"/#/component/backend/logsniffer", 1440, nobody)
	b.SignIn("olga", "olga's password")
	b.Says(".primary", "Start")
	b.Await(`document.querySelector('.menu')?.open === false`)
	b.ClickText(".primary button", "Start")
	b.Says(".panel .now", "running")
	pid := browser.Ask[string](b, `new Promise(done => { const look = () => { const cell = document.querySelector('.replica td'); cell ? done(cell.textContent) : setTimeout(look, 50); }; look(); })`)
	b.Look("operations-primary")
	b.ClickText(".primary button", "Restart")
	b.Says(".past", "stop")
	b.Await(`(document.querySelector('.replica td')?.textContent || ` + "`" + pid + "`" + `) !== ` + "`" + pid + "`")
	b.Says(".panel .now", "running")
	b.Await(`!document.querySelector('.troubles')`) // the restart is no hold
	b.Click(".menu summary")
	b.Push("stop")
	b.Says(".panel .now", "configured")
	b.Look("operations-menu")
	b.Push("delete")
	b.Says("dialog", "Delete logsniffer?")
	b.Look("operations-delete")
	b.ClickText("dialog button", "Cancel")
	b.Await(`!document.querySelector('dialog')`)
	b.Says(".panel .now", "configured")
	b.Push("delete")
	b.ClickText("dialog button", "Delete")
	b.Says(".panel .now", "not created")
}

// Logs have columns, levels and a bar for stderr; they can be saved, and searched without leaving anything out.
func TestThePageReadsLogs(t *testing.T) {
	world := newThinking(t)
	if err := os.WriteFile(world.fails, []byte("api.configure\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t, world.URL+"/#/logs", 1440, nobody)
	b.SignIn("olga", "olga's password")
	for _, component := range []string{"api", "logsniffer"} {
		world.run(t, "backend", component, "create")
		world.run(t, "backend", component, "configure")
	}
	b.Says(".lines p.stderr", "cannot reach the store")
	colours := browser.Ask[[]string](b, `['stdout', 'stderr'].map(s => getComputedStyle(document.querySelector('.lines p.' + s + ' .text')).color)`)
	if colours[0] != colours[1] {
		t.Errorf("lines of stderr have another colour: %q", colours)
	}
	edges := browser.Ask[int](b, `new Set([...document.querySelectorAll('.lines .text')].map(e => Math.round(e.getBoundingClientRect().left))).size`)
	if edges != 1 {
		t.Errorf("lines begin at %d places", edges)
	}
	b.Look("logs-columns")
	b.Ask(`(() => { const e = document.querySelector('input[name=find]'); e.value = 'create'; e.dispatchEvent(new Event('input', {bubbles: true})); })()`)
	b.Says(".find", "2")
	b.Await(`CSS.highlights.get('found').size === 2`)
	b.Says(".lines", "cannot reach the store")
	b.Click(".find button")
	b.Says(".find", "2 of 2")
	b.ClickText(".tools button", "Wrap")
	b.Await(`getComputedStyle(document.querySelector('.lines .text')).whiteSpace === 'pre'`)

	levels := browser.Ask[string](b, `import('/web/js/row.js').then(m => ['2026 ERROR no', 'level=warn msg=x', '{"level":"info"}', '[debug] x', 'error: x', 'there is no error here', 'INFORMATION'].map(m.levelOf).join())`)
	if levels != "error,warn,info,debug,error,," {
		t.Errorf("levels are %s", levels)
	}
	b.Ask(`(() => { const make = URL.createObjectURL; URL.createObjectURL = blob => { blob.text().then(text => { window.saved = text; }); return make.call(URL, blob); }; HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; }; })()`)
	b.ClickText(".tools button", "Download")
	b.Await(`!!window.saved`)
	if saved := browser.Ask[string](b, `window.saved`); !strings.Contains(saved, "logsniffer: configure") || !strings.Contains(saved, "cannot reach the store") {
		t.Errorf("what is saved is %q", saved)
	}
	if name := browser.Ask[string](b, `window.savedAs`); !strings.HasPrefix(name, "thinking-") || filepath.Ext(name) != ".log" {
		t.Errorf("it is saved as %s", name)
	}
}

// What ran in a container that is gone is still shown.
func TestThePageKeepsThePast(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL+"/#/component/backend/api", 1440, nobody)
	b.SignIn("olga", "olga's password")
	for _, operation := range []string{"create", "configure", "start"} {
		world.run(t, "backend", "api", operation)
	}
	b.Says(".own-log", "listening")
	b.Says(".past", "start")
	world.found.mu.Lock()
	world.found.of["backend"] = nil
	world.found.mu.Unlock()
	world.units["backend"].Kill()
	b.Says(".own-log.old", "listening")
	b.Says(".own-log.old", "From a container that ")
	b.Says(".past.old", "start")
	b.Look("past")
	b.GoTo("#/")
	b.GoTo("#/component/backend/api")
	b.Says(".own-log.old", "listening")
}
