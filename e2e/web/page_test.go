//go:build !windows

package web_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/toskose/toskose/e2e/browser"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/spec"
)

func TestMain(m *testing.M) { browser.Main(m) }

// nobody is what the page is told where nobody is signed in yet.
const nobody = "401 /api/v1/session"

func TestThePage(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL, 1280, nobody)
	b.Expect("401 /api/v1/session")
	b.SignIn("admin", "wrong")
	b.Says(".refused", "Wrong user or password")
	b.Named()
	b.Picture("signin")
	b.SignIn("admin", "pw")
	b.Says("[data-box=api]", "not created")
	b.Named()

	b.GoTo("#/goal")
	b.Click(".choice") // all up
	b.Says(".plan", "The plan: 9 operations")
	b.Named()
	b.Picture("plan")
	b.Click(".editor button.main")
	b.Says(".lead", "is reached")
	b.Picture("goal")

	b.GoTo("#/")
	b.Says("[data-box=api]", "running")
	b.Await(`document.querySelector('[data-box=api]')?.dataset.tone === 'ok'`)
	b.Says("[data-box=api]", "%")
	b.Says(".latest", "start")
	b.Picture("topology")

	b.Click("[data-box=api]")
	b.Says(".panel h1", "api")
	b.Says(".past", "configure")
	b.Says(".own-log", "listening")
	b.Named()
	b.Picture("component")
	b.Ask(stale)
	b.Push("stop") // against the goal: it is on hold, and gui lacks it
	b.Says(".panel .now", "configured")
	if n := browser.Ask[int](b, `window.stale`); n > 0 {
		t.Errorf("what has stopped has processor time, memory or processes, %d times", n)
	}
	b.Says(".troubles", "On hold")
	b.Await(`document.querySelector('[data-box=api]')?.dataset.tone === 'warn'`)
	b.Await(`document.querySelector('.chip')?.dataset.tone === 'warn'`)
	b.Picture("hold")
	b.GoTo("#/component/frontend/gui")
	b.Push("stop")
	b.Says(".operation .why", "gui lacks connection and dependency of api")
	b.ClickText(".operation button", "run anyway")
	b.Says(".panel .now", "running")
	b.GoTo("#/component/backend/api")
	b.Push("start")
	b.Says(".panel .now", "running")

	b.GoTo("#/activity")
	b.Says(".timeline", "admin (forced)")
}

func TestThePageTakesTheApplicationDown(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL+"/#/goal", 1280, nobody)
	b.SignIn("olga", "olga's password")
	b.ClickText(".choice", "all up")
	b.Says(".plan", "The plan: 9 operations")
	b.Click(".editor button.main")
	b.Says(".lead", "up is reached")
	b.ClickText(".choice", "all down")
	b.Says(".plan", "api stop")
	b.Click(".editor button.main")
	b.Says(".lead", "down is reached")
	b.GoTo("#/")
	for _, name := range []string{"api", "gui", "logsniffer"} {
		b.Says("[data-box="+name+"]", "not created")
		b.Await(`document.querySelector('[data-box=` + name + `]')?.dataset.tone === 'idle'`)
	}
	for _, n := range world.app.Nodes(t.Context(), manager.StatesOnly) {
		for _, c := range n.Components {
			if c.State != "deleted" {
				t.Errorf("%s is %s", c.Name, c.State)
			}
		}
	}
}

// What fails on the way is tried again, and what waits for it is shown as what is to come.
func TestThePageShowsStepsToCome(t *testing.T) {
	world := newThinking(t)
	if err := os.WriteFile(world.fails, []byte("api.configure\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t, world.URL+"/#/goal", 1280, nobody)
	b.SignIn("olga", "olga's password")
	b.Click(".choice")
	b.Says(".plan", "The plan: 9 operations")
	b.Click(".editor button.main")
	b.Says(".troubles", "configure")
	b.Says(".plan.ahead", "gui start")
	b.Look("goal-in-the-way")
	b.GoTo("#/")
	b.Says("[data-box=gui] .ahead", "start")
	b.Says("[data-box=logsniffer]", "running")
	b.Await(`document.querySelector('[data-box=api]')?.dataset.tone === 'bad'`)
	b.Await(`document.querySelector('[data-box=gui]')?.dataset.tone === 'idle'`)
	b.Await(`!document.querySelector('#said p')`)
	b.Picture("pending")
	b.Look("topology-in-the-way")
	b.GoTo("#/component/backend/api")
	b.Says(".panel .reason", "configure failed")
	b.Look("component-in-the-way")
	if err := os.Remove(world.fails); err != nil {
		t.Fatal(err)
	}
	b.GoTo("#/goal")
	b.ClickText(".goal button", "Set the goal again")
	b.Says(".lead", "is reached")
	b.GoTo("#/")
	b.Says("[data-box=gui]", "running")
	b.Await(`!document.querySelector('.ahead')`)
}

// stale counts how often numbers of processes are shown of api where it is configured.
const stale = `window.stale = 0, new MutationObserver(() => {
	const box = document.querySelector('[data-box=api]'), numbers = box && [...box.querySelectorAll('.numbers')].map(e => e.textContent).join('');
	if (box?.querySelector('.state').textContent.includes('configured') && (numbers || document.querySelector('.replica table'))) window.stale++;
}).observe(document.body, {subtree: true, childList: true, characterData: true})`

func TestThePageShowsExecutions(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL+"/#/component/backend/logsniffer", 1280, nobody) // a deep link
	b.SignIn("olga", "olga's password")
	b.Says(".panel h1", "logsniffer")
	b.Push("create")
	b.Says(".past", "create")
	b.Click(".past a")
	b.Says("pre", "logsniffer: create")
	b.Says(".lead", "by olga")
	b.Named()
	b.GoTo("#/activity")
	b.Says(".timeline", "logsniffer create")
	b.Named()
	b.GoTo("#/components")
	b.Says("table", "created")
	b.Named()
	b.GoTo("#/nothing")
	b.Says("h1", "no such view")
}

func TestThePageShowsTasks(t *testing.T) {
	world := newWorld(t, "pipeline")
	b := browser.Open(t, world.URL+"/#/component/workers/import", 1280, nobody)
	b.SignIn("olga", "olga's password")
	b.Says(".panel", "waiting: 0 of 5")
	b.Named()
	b.ClickText(".panel button.main", "Run to its end") // with all that it requires
	b.Says(".panel", "completed: 5 of 5")
	b.Says("[data-box=import]", "completed, 5 of 5")
	b.Says("[data-box=migrate]", "completed, 1 of 1")
	b.Says(".past", "run[4]")
	b.Await(`[...document.querySelectorAll('.indexes tbody tr')].map(r => r.cells[2].textContent).sort().join() === '1,1,1,1,2'`) // one has failed, once
	b.Await(`!document.querySelector('.panel button.main[disabled]')`)
	b.Named()
	b.Picture("task")
	b.Click(".indexes tr:nth-child(4) a")
	b.Says("pre", "import: run 3")
	b.Says("h1", "import Task.run[3]")
	b.GoTo("#/component/workers/import")
	b.ClickText(".panel button", "Run all again")
	b.Await(`[...document.querySelectorAll('.indexes tbody tr')].map(r => r.cells[2].textContent).join() === '1,1,1,1,1'`)
	b.Says(".panel", "completed: 5 of 5")

	viewer := browser.Open(t, world.URL+"/#/component/store/migrate", 320, nobody)
	viewer.SignIn("vera", "vera's password")
	viewer.Says(".panel", "completed: 1 of 1")
	viewer.Await(`document.querySelectorAll('.panel .row button:not(:disabled)').length === 0`)
	viewer.Picture("phone-task")
	if wide := browser.Ask[int](viewer, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
		t.Errorf("%d pixels are beside a screen of 320", wide)
	}
}

func TestThePageShowsAJobAsItsOrchestrators(t *testing.T) {
	world := newWorld(t, "thinking", func(app *spec.Application) {
		for i := range app.Nodes {
			if n := &app.Nodes[i]; n.Name == "store" {
				n.Job = []string{"load"}
			}
		}
	})
	b := browser.Open(t, world.URL, 1280, nobody)
	b.SignIn("vera", "vera's password")
	b.Says("[data-box=store]", "job, running")
	b.Says("[data-box=store] title", "load: a job, run by its orchestrator")
	world.found.ended.Store(true)
	b.Says("[data-box=store]", "job, not running")
}

func TestThePageFollowsLogs(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL+"/#/logs?of=backend/api", 1280, nobody)
	b.SignIn("olga", "olga's password")
	b.Says(".lines", "Nothing was printed")
	for _, operation := range []string{"create", "configure", "start"} {
		world.run(t, "backend", "api", operation)
		b.Says(".lines", "api: "+operation)
	}
	world.run(t, "backend", "logsniffer", "create")
	b.Named()
	b.GoTo("#/logs?text=Sniffer")
	b.Says(".lines mark", "sniffer")
	if text := browser.Ask[string](b, `document.querySelector(".lines").textContent`); strings.Contains(text, "api: create") {
		t.Errorf("lines that were not searched for: %s", text)
	}
	// Who reads what was before stays there, and what is new waits.
	b.Ask(`Object.assign(document.querySelector(".lines").style, {height: 0, lineHeight: "300px"})`)
	for _, at := range []string{"1000", "0"} {
		b.Ask(`document.querySelector(".lines").scrollTop = ` + at)
	}
	world.run(t, "backend", "logsniffer", "configure")
	b.Says(".lines .more", "1 new line")
	if at := browser.Ask[int](b, `document.querySelector(".lines").scrollTop`); at != 0 {
		t.Errorf("what is read has moved by %d pixels", at)
	}
	b.ClickText(".lines .more", "1 new line ↓")
	b.Says(".lines", "logsniffer: configure")
	// What is no longer shown is no longer followed: browsers have few connections to a host.
	b.GoTo("#/")
	b.Await(`performance.getEntriesByType('resource').filter(e => e.name.includes('/logs?')).length === 2`) // have ended
}

func TestViewersOnlyWatch(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL+"/#/component/backend/api", 1280, nobody)
	b.SignIn("vera", "vera's password")
	b.Says(".panel .hint", "operators may")
	if n := browser.Ask[int](b, `document.querySelectorAll('.operation button:not(:disabled)').length`); n != 0 {
		t.Errorf("a viewer may push %d buttons", n)
	}
	// What the page does not offer, the API refuses.
	b.Expect("403 /api/v1/node/backend/api/create", "401 /api/v1/app")
	status := browser.Ask[int](b, `fetch('/api/v1/node/backend/api/create', {method: 'POST', headers: {'Toskose-Page': '1', 'Toskose-Session-Key': sessionStorage.getItem('toskose-session-key')}}).then(r => r.status)`)
	if status != http.StatusForbidden {
		t.Errorf("status %d", status)
	}
	if cookies := browser.Ask[string](b, `document.cookie`); cookies != "" {
		t.Errorf("scripts read the cookie: %s", cookies)
	}
	b.GoTo("#/goal")
	b.Click(".choice")
	b.Says(".plan", "The plan: 9 operations") // everybody may know the plan
	b.Await(`document.querySelector('.editor button.main')?.disabled`)
	b.Says(".hint", "operators may")
	b.ClickText("button", "Sign out")
	b.Await(`!!document.querySelector('form.signin')`)
	if status := browser.Ask[int](b, `fetch('/api/v1/app', {headers: {'Toskose-Page': '1'}}).then(r => r.status)`); status != http.StatusUnauthorized {
		t.Errorf("status %d after signing out", status)
	}
}

func TestThePageIsOpenedWithAToken(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL+"/#/component/backend/api", 1280, nobody)
	b.ClickText("form.signin button", "Use a token instead")
	b.Expect("401 /api/v1/session")
	b.SignInWithToken("nobody's")
	b.Says(".refused", "This token is not valid")
	b.Named()
	b.Picture("signin-token")
	const make = `fetch('/api/v1/tokens', {method: 'POST', headers: {Authorization: 'Basic ' + btoa("olga:olga's password"), 'Toskose-Page': '1'}}).then(r => r.json()).then(t => t.access_token)`
	b.SignInWithToken(browser.Ask[string](b, make))
	b.Says(".user", "olga operator")
	b.Push("create")
	b.Says(".panel .now", "created")
	// It ends with the user, and the page says so.
	b.ExpectMany("401 /api/v1/*") // whatever is asked first
	world.users.remove(t, "olga")
	b.Says("form.signin", "You were signed out")
	if left := browser.Ask[int](b, `document.querySelectorAll('[data-box]').length`); left != 0 {
		t.Errorf("%d boxes are shown to nobody", left)
	}
}

func TestThePageOnAPhoneAndInTheDark(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL, 320, nobody)
	b.SignIn("admin", "pw")
	for view, hash := range map[string]string{"topology": "#/", "component": "#/component/backend/api", "components": "#/components", "goal": "#/goal", "activity": "#/activity", "logs": "#/logs"} {
		b.GoTo(hash)
		b.Await(`!!document.querySelector('#main')`)
		b.Named()
		b.Picture("phone-" + view)
		if wide := browser.Ask[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
			t.Errorf("%s: %d pixels are beside a screen of 320", view, wide)
		}
	}
	dark := browser.Open(t, world.URL, 1280, nobody)
	dark.Dark()
	dark.SignIn("admin", "pw")
	dark.Says("[data-box=api]", "not created")
	dark.Picture("dark")
}
