//go:build !windows

package web_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toskose/toskose/e2e/browser"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/spec/protocol"
)

// Every view, at three widths, in the light and in the dark: what each test looks at is kept
// as pictures by `make views`.

func TestEveryViewBeforeAnythingRan(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL, 1440, nobody)
	b.Expect("401 /api/v1/session", "401 /api/v1/session", "404 /api/v1/executions/NOTHING") // loaded again, refused
	b.Await(`document.activeElement.name === 'password'`)
	b.Look("sign-in")
	b.Cut("/api/")
	b.Reload()
	b.Says(".empty", "does not answer")
	b.Look("nobody-answers")
	b.Cut()
	b.SignIn("admin", "wrong")
	b.Says(".refused", "Wrong user or password")
	b.Look("sign-in-refused")
	b.ClickText("form.signin button", "Use a token instead")
	b.Look("sign-in-token")
	b.ClickText("form.signin button", "Use a password instead")
	b.Cut("/api/v1/app/drawing")
	b.SignIn("admin", "pw")
	b.Says(".empty", "does not answer")
	b.Cut() // it is asked again
	b.Says("[data-box=api]", "not created")
	b.Look("topology-nothing-yet")
	for view, text := range map[string]string{"activity": "Nothing was executed", "logs": "Nothing was printed", "goal": "There is no goal", "components": "not created"} {
		b.GoTo("#/" + view)
		b.Says("main", text)
		b.Look(view + "-nothing-yet")
	}
	b.GoTo("#/component/frontend/gui")
	b.Says(".panel .why", "not allowed while")
	b.Says(".own-log", "Nothing was printed")
	b.Look("component-nothing-yet")
	b.GoTo("#/component/backend/nothing")
	b.Says(".panel", "no component")
	b.Look("no-such-component")
	b.GoTo("#/execution/NOTHING")
	b.Says(".empty", "NOTHING")
	b.Look("no-such-execution")
	b.GoTo("#/component/backend/%E0")
	b.Says(".panel", `no component "%E0"`)
	b.GoTo("#/nothing")
	b.Says("h1", "no such view")
	b.Look("no-such-view")
	b.GoTo("#/logs?text=nothing+has+this")
	b.Says(".lines", "No line")
	b.Look("logs-not-found")
}

func TestEveryViewOfWhatRuns(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL+"/#/goal", 1440, nobody)
	b.SignIn("admin", "pw")
	b.Click(".choice")
	b.Says(".plan", "The plan: 9 operations")
	b.Look("goal-plan")
	b.Click(".editor button.main")
	b.Says(".lead", "is reached")
	b.Look("goal")
	b.GoTo("#/")
	b.Says("[data-box=api]", "MB")
	b.Says(".latest", "start")
	b.Look("topology")
	for view, text := range map[string]string{"components": "running", "activity": "logsniffer start", "logs": "listening"} {
		b.GoTo("#/" + view)
		b.Says("main", text)
		b.Look(view)
	}
	b.GoTo("#/logs?of=backend/api&text=listening")
	b.Says(".lines", "listening")
	b.Await(`document.querySelector('input[name=text]')?.value === 'listening'`)
	b.Look("logs-searched")
	b.GoTo("#/component/backend/api")
	b.Says(".own-log", "listening")
	b.Says(".replica", "MB")
	b.Look("component")
	b.Push("stop")
	b.Says(".troubles", "On hold")
	b.Look("component-on-hold")
	b.GoTo("#/goal")
	b.Says(".troubles", "api")
	b.Look("goal-on-hold")
	b.GoTo("#/component/frontend/gui")
	b.Push("stop")
	b.Says(".operation .why", "gui lacks connection and dependency of api")
	b.Look("component-refused")

	v := browser.Open(t, world.URL+"/#/component/backend/api", 1440, nobody)
	v.SignIn("vera", "vera's password")
	v.Says(".panel .hint", "operators may")
	v.Says(".own-log", "listening")
	v.Look("viewer-component")
	v.GoTo("#/goal")
	v.Says(".hint", "operators may")
	v.Look("viewer-goal")

	if err := os.WriteFile(world.fails, []byte("api.push_default\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.GoTo("#/component/backend/api")
	b.Push("api_interface.push_default")
	b.Says(".past", "failed")
	b.Look("component-failed")
	b.Click(".past a")
	b.Says("pre", "cannot reach the store")
	b.Look("execution-failed")
	b.GoTo("#/activity")
	b.Says(".timeline", "failed")
	b.Look("activity-failed")
	world.units["frontend"].Kill()
	b.GoTo("#/")
	b.Says("[data-box=frontend]", "unreachable")
	b.Look("topology-unreachable")
	b.GoTo("#/component/frontend/gui")
	b.Says(".troubles", "127.0.0.1")
	b.Says(".operation .why", "its container does not answer")
	b.Look("component-unreachable")
	b.ExpectMany(cutOff...)
	v.ExpectMany(cutOff...)
	world.away.Store(true)
	world.CloseClientConnections()
	b.Says(".offline", "No connection")
	b.Look("offline")
	world.away.Store(false)
	b.Await(`!document.querySelector('.offline')`)
	v.ExpectMany("401 /api/v1/*") // whatever is asked first
	world.users.remove(t, "vera")
	v.Says("form.signin", "You were signed out")
	v.Look("signed-out")
}

func TestEveryViewOfTasksAndOfMany(t *testing.T) {
	l := newLarge(500)
	b := browser.Open(t, serve(t, l, &atomic.Bool{}).URL, 1440, nobody)
	b.SignIn("admin", "pw")
	b.Says("[data-box=component499]", protocol.Running)
	b.ClickText(".zoom button", "Expand all")
	b.Says("[data-box=component499] .label", protocol.Running)
	l.turn("component011", protocol.Configured)
	l.strive(underway())
	b.Says("[data-box=component250] .ahead", "2. start")
	b.Says("[data-box=component011]", protocol.Configured)
	b.Look("many")
	b.GoTo("#/goal")
	b.Says(".plan.ahead", "component250")
	b.Look("goal-underway")
	b.ExpectMany("404 /api/v1/logs") // there are none
	b.GoTo("#/component/container025/component250")
	b.Says(".panel .steps", "start after component100")
	b.Look("component-underway")
	l.report("component007", retrying(time.Now().Add(time.Hour)))
	b.GoTo("#/component/container000/component007")
	b.Says(".panel", "retrying: 3 of 5")
	b.Look("task-retrying")
}

func TestTheViewsOfThirtyAndThreeHundredComponents(t *testing.T) {
	for _, n := range []int{30, 300} {
		l := newLarge(n)
		b := browser.Open(t, serve(t, l, &atomic.Bool{}).URL, 1440, nobody)
		b.ExpectMany("404 /api/v1/logs") // of a component without a real unit
		b.SignIn("admin", "pw")
		b.Await(fmt.Sprintf(`document.querySelector("main")?.innerText.includes("%d up")`, n))
		for _, view := range []string{"", "components", "goal", "component/container001/component012"} {
			b.GoTo("#/" + view)
			b.Await(`!document.querySelector('main .empty')`)
			name, _, _ := strings.Cut(cmp.Or(view, "topology"), "/")
			b.Look(fmt.Sprint(name, "-of-", n))
		}
	}
}

func TestEveryViewOfATask(t *testing.T) {
	world := newWorld(t, "pipeline")
	b := browser.Open(t, world.URL+"/#/component/workers/import", 1440, nobody)
	b.SignIn("olga", "olga's password")
	b.Says(".panel", "waiting: 0 of 5")
	b.Look("task-waiting")
	b.ClickText(".panel button.main", "Run to its end")
	b.Says(".panel", "completed: 5 of 5")
	b.Look("task")
	b.GoTo("#/")
	b.Says("[data-box=import]", "5 of 5")
	b.Look("topology-tasks")
	b.GoTo("#/component/workers/import")
	b.Click(".indexes tr:nth-child(4) a")
	b.Says("pre", "import: run 3")
	b.Look("execution")
}

// underway is a goal that is on its way.
func underway() rest.Goal {
	return rest.Goal{
		State: goal.Up, Acting: true, Wanted: 500, Reached: 498,
		Underway:  []goal.Step{{Component: "component100", Operation: protocol.Operation{Interface: protocol.Standard, Name: "start"}, From: protocol.Configured, To: protocol.Running}},
		Ahead:     []goal.Ahead{{Level: 2, Component: "component250", Operation: "Standard.start", After: []string{"component100"}}},
		Obstacles: []goal.Obstacle{{Component: "component250", Reason: "start waits for component100", Waits: true}},
	}
}

// What changes is said to who does not look at it, once; what only counts is not.
func TestThePageSaysWhatChanges(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL, 1280, nobody)
	b.SignIn("vera", "vera's password")
	b.Says("[data-box=api]", "not created")
	b.Await(`document.querySelector('#heard[role=status][aria-live=polite]')?.textContent === ''`)
	b.Ask(`window.told = [], new MutationObserver(() => window.told.push(document.getElementById('heard').textContent)).observe(document.getElementById('heard'), {childList: true, characterData: true, subtree: true})`)
	world.run(t, "backend", "api", "create")
	b.Await(`window.told.some(t => t.includes('api is created'))`)
	for _, o := range []string{"configure", "start"} {
		world.run(t, "backend", "api", o)
	}
	b.Await(`window.told.some(t => t.includes('api is running'))`)
	b.Says("[data-box=api]", "MB")
	n := browser.Ask[int](b, `window.told.length`)
	b.Await(`performance.getEntriesByType("resource").filter(e => e.name.includes("processes=true")).length > (window.asked ||= performance.getEntriesByType("resource").filter(e => e.name.includes("processes=true")).length) + 1`)
	if now := browser.Ask[[]string](b, `window.told`); len(now) != n {
		t.Errorf("what does not change is told: %q", now)
	}
}

func TestNothingMovesForWhoWantsItSo(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL+"/#/goal", 1280, nobody)
	b.Prefer("prefers-reduced-motion", "reduce")
	b.SignIn("admin", "pw")
	b.Click(".choice")
	b.Says(".plan", "The plan: 9 operations")
	b.Click(".editor button.main")
	b.Says(".lead", "is reached")
	const moving = `[...document.querySelectorAll('*')].filter(e => { const s = getComputedStyle(e); return s.transitionDuration.split(', ').some(d => parseFloat(d) > 0) || s.animationName !== 'none' || s.scrollBehavior === 'smooth'; }).length`
	if n := browser.Ask[int](b, moving); n != 0 {
		t.Errorf("%d elements move", n)
	}
	b.Prefer("prefers-reduced-motion", "no-preference")
	if n := browser.Ask[int](b, moving); n == 0 {
		t.Error("nothing moves for anybody: this shows nothing")
	}
}
