//go:build !windows

package web_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toskose/toskose/e2e/browser"
	"github.com/toskose/toskose/graph"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/series"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// large is an application of many components that only shows them.
type large struct {
	api.Application // nothing else is asked of it

	model *spec.Application
	mu    sync.Mutex
	state map[string]string
	heard chan manager.Event

	tasks   map[string]*goal.TaskStatus // of those that are one
	goal    rest.Goal
	changed chan struct{}

	works bool // each component has a process, which takes more each time somebody looks
	seen  int
}

const perContainer = 10

func newLarge(components int) *large {
	l := &large{model: &spec.Application{Name: "large"}, state: map[string]string{}, tasks: map[string]*goal.TaskStatus{}, heard: make(chan manager.Event), changed: make(chan struct{})}
	for i := range components {
		node := fmt.Sprintf("container%03d", i/perContainer)
		if i/perContainer == 49 {
			node += "-with-a-name-as-long-as-somebody-may-choose-it"
		}
		if i%perContainer == 0 {
			l.model.Nodes = append(l.model.Nodes, spec.Node{Name: node, Type: "tosker.nodes.Container", Protocol: protocol.Container().Hosting()})
		}
		c := spec.Component{Name: fmt.Sprintf("component%03d", i), Host: node, Node: node, Protocol: protocol.Software()}
		if i >= perContainer {
			c.Connections = []string{fmt.Sprintf("component%03d", i-perContainer)}
		}
		l.model.Components = append(l.model.Components, c)
		l.state[c.Name] = protocol.Running
	}
	return l
}

func (l *large) Drawing() manager.Drawing {
	d := manager.Drawing{Name: l.model.Name, Topology: graph.Lay(l.model, graph.Room{Width: 196, Height: 36}), Protocols: map[string]graph.Diagram{}, Groups: map[string][]string{}}
	for _, c := range l.model.Components {
		d.Protocols[c.Name] = graph.States(c.Protocol)
	}
	return d
}

func (l *large) Nodes(_ context.Context, d manager.Detail) []rest.Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	var processes []wire.Process
	if l.works && d == manager.WithProcesses {
		l.seen++
		processes = []wire.Process{{PID: 7, Command: "work", CPU: float64(l.seen * l.seen), Memory: int64(l.seen) << 20}}
	}
	var all []rest.Node
	for _, c := range l.model.Components {
		if len(all) == 0 || all[len(all)-1].Name != c.Node {
			all = append(all, rest.Node{Name: c.Node, Kind: rest.Toskosed, State: rest.NodeRunning, Replicas: []rest.Replica{{Address: "10.0.0.1:9001"}}})
		}
		n := &all[len(all)-1]
		n.Components = append(n.Components, rest.Component{
			Name: c.Name, Type: "tosker.nodes.Software", Node: c.Node, State: l.state[c.Name], Allowed: []string{"Standard.stop"}, Operations: []rest.OperationModel{}, Task: l.tasks[c.Name],
			Replicas: []rest.ComponentReplica{{Address: "10.0.0.1:9001", State: l.state[c.Name], Allowed: []string{"Standard.stop"}, Processes: processes}},
		})
	}
	return all
}

func (l *large) Goal() rest.Goal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.goal
}

func (l *large) GoalChanged() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// Series has no samples.
func (l *large) Series(time.Time, func(string) bool) series.Window { return series.Window{} }

// strive has the goal be as far as that.
func (l *large) strive(g rest.Goal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.goal = g
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *large) History(context.Context, rest.HistoryQuery) (rest.History, error) {
	return rest.History{Executions: []rest.Execution{}}, nil
}

func (l *large) Lines(context.Context, rest.LogQuery) (manager.LineReader, error) {
	return nil, &rest.Error{Kind: rest.ErrNoLog, Detail: "nothing is printed"}
}

func (l *large) Events(string) func(context.Context) ([]manager.Event, error) {
	return func(ctx context.Context) ([]manager.Event, error) {
		select {
		case e := <-l.heard:
			return []manager.Event{e}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// turn has a component be in another state.
func (l *large) turn(name, state string) {
	l.mu.Lock()
	l.state[name] = state
	l.mu.Unlock()
	i := slices.IndexFunc(l.model.Components, func(c spec.Component) bool { return c.Name == name })
	l.heard <- manager.Event{ID: "e:1", Kind: "stop", Time: time.Now(), Node: l.model.Components[i].Node, Replica: "10.0.0.1:9001", Component: name, State: state}
}

// report has a task be as far as that.
func (l *large) report(name string, st *goal.TaskStatus) {
	l.mu.Lock()
	l.tasks[name] = st
	l.mu.Unlock()
	text, err := json.Marshal(st)
	if err != nil {
		panic(err)
	}
	l.heard <- manager.Event{ID: "e:2", Kind: mirror.EventTask, Time: time.Now(), Component: name, Task: text}
}

func TestManyComponents(t *testing.T) {
	l := newLarge(500)
	b := browser.Open(t, serve(t, l, &atomic.Bool{}).URL, 1280, nobody)
	b.SignIn("admin", "pw")
	b.Says("[data-box=component499]", protocol.Running)
	b.ClickText(".zoom button", "Expand all")
	b.Says(".zoom button", "Collapse all")
	if n := browser.Ask[int](b, `document.querySelectorAll('a.box.component').length`); n != 500 {
		t.Errorf("%d components are drawn", n)
	}
	// What has not changed is not touched.
	b.Ask(`new MutationObserver(all => { for (const m of all) (window.touched ||= new Set()).add((m.target.nodeType === 3 ? m.target.parentElement : m.target).closest('[data-box]')?.dataset.box); }).observe(document.querySelector('.sheet'), {subtree: true, childList: true, attributes: true, characterData: true})`)
	l.turn("component250", protocol.Configured)
	b.Says("[data-box=component250]", protocol.Configured)
	if touched := browser.Ask[string](b, `[...window.touched].join()`); touched != "component250" {
		t.Errorf("touched: %s", touched)
	}
	// Nor is it by what the goal has ahead of others.
	b.Ask(`window.touched.clear()`)
	l.strive(underway())
	b.Says("[data-box=component250] .ahead", "2. start")
	b.Says("[data-box=component100] .next", "start")
	if touched := browser.Ask[string](b, `[...window.touched].sort().join()`); touched != "component100,component250" {
		t.Errorf("touched by the goal: %s", touched)
	}
	b.Await(`document.querySelector('[data-box=component250]')?.dataset.tone === 'idle'`) // nothing is wrong with it
	b.Picture("many")
	b.ExpectMany("404 /api/v1/logs") // there are none
	b.GoTo("#/component/container025/component250")
	b.Says(".panel .steps", "start after component100")
	b.Says(".panel", "waits for component100")
	b.GoTo("#/goal")
	b.Says(".plan.ahead", "component250")
	b.Named()
	b.Picture("underway")
	l.strive(rest.Goal{State: goal.Up, Acting: true, Wanted: 500, Reached: 500, Done: true})
	b.Says(".lead", "is reached")
	b.Await(`!document.querySelector('.ahead')`)
	countsDown(t, l, b)
}

// retrying is a task of which one index has failed, and another is tried again.
func retrying(until time.Time) *goal.TaskStatus {
	code := 9
	return &goal.TaskStatus{
		Phase: goal.TaskRetrying, Completions: 5, Parallelism: 2, Completed: 3, Failed: 1, Until: until, Reason: "index 0 failed 4 times",
		Indexes: []goal.TaskIndex{
			{Phase: goal.TaskFailed, Attempts: 4, ExitCode: &code, Execution: "x0"},
			{Index: 1, Phase: goal.TaskRetrying, Attempts: 2, Signal: "SIGKILL", Until: until},
			{Index: 2, Phase: goal.TaskCompleted},
			{Index: 3, Phase: goal.TaskCompleted},
			{Index: 4, Phase: goal.TaskCompleted},
		},
	}
}

// countsDown shows a task, of which something is tried again.
func countsDown(t *testing.T, l *large, b *browser.Window) {
	t.Helper()
	l.report("component007", retrying(time.Now().Add(110*time.Second)))
	b.GoTo("#/components")
	b.Says("tr[data-tone=warn]", "running, 3 of 5")
	b.Click(".counts [data-tone=warn]")
	b.Await(`document.querySelectorAll('tbody tr').length === 1`)
	b.GoTo("#/component/container000/component007")
	b.Says(".panel", "retrying: 3 of 5, 1 failed, next try in ")
	b.Says("[data-box=component007]", "3 of 5")
	b.Says(".indexes tr[data-tone=bad]", "failed, the last execution of index 04") // after four attempts
	b.Says(".indexes tr[data-tone=warn]", "retrying2SIGKILLin ")
	b.Named()
	b.Picture("task-retrying")
	b.Ask(`window.left = [], new MutationObserver(() => window.left.push(parseInt(document.querySelector('.indexes [data-tone=warn] td:last-child')?.textContent.slice(3)))).observe(document.querySelector('.indexes'), {subtree: true, childList: true, characterData: true})`)
	b.Await(`window.left.length > 2`)
	if left := browser.Ask[[]int](b, `window.left`); !slices.IsSortedFunc(left, func(a, b int) int { return b - a }) || left[0] == left[2] || left[0] > 110 {
		t.Errorf("left are %v seconds", left)
	}
}

// wholeFrames notes how long frames are: from their beginning to the first task after
// them, so with style, layout and paint, which follow on what scripts do in one.
const wholeFrames = `(() => {
	const frame = window.requestAnimationFrame.bind(window);
	window.requestAnimationFrame = draw => frame(at => {
		const begun = performance.now(), after = new MessageChannel();
		after.port1.onmessage = () => { window.framed?.push(performance.now() - begun); after.port1.close(); };
		draw(at);
		after.port2.postMessage('');
	});
})()`

// BenchmarkThePage prints how fast the page is, in a real browser on this machine.
func BenchmarkThePage(b *testing.B) {
	small, many := newLarge(5), newLarge(1000)
	w := browser.Open(b, serve(b, small, &atomic.Bool{}).URL, 1280, nobody)
	var paints, updates, scripts, frames, busy []float64
	for range 11 {
		w.Reload()
		w.Await(`performance.getEntriesByName('first-contentful-paint').length > 0`)
		paints = append(paints, browser.Ask[float64](w, `performance.getEntriesByName('first-contentful-paint')[0].startTime`))
	}
	w.SignIn("admin", "pw")
	w.Says("[data-box=component004]", protocol.Running)
	for i := range 21 {
		state := []string{protocol.Configured, protocol.Running}[i%2]
		w.Ask(`new MutationObserver((all, o) => { o.disconnect(); window.shown = Date.now(); }).observe(document.querySelector('[data-box=component002]'), {subtree: true, childList: true, attributes: true, characterData: true})`)
		begun := time.Now()
		small.turn("component002", state)
		w.Says("[data-box=component002]", state)
		updates = append(updates, browser.Ask[float64](w, `window.shown`)-float64(begun.UnixMicro())/1000)
	}
	w = browser.Open(b, serve(b, many, &atomic.Bool{}).URL, 1280, nobody)
	w.SignIn("admin", "pw")
	w.Says("[data-box=component999]", protocol.Running)
	w.ClickText(".zoom button", "Expand all")
	w.Says(".zoom button", "Collapse all")
	w.Ask(wholeFrames)
	w.Ask(`new PerformanceObserver(l => window.drawn?.push(...l.getEntries().map(m => m.duration))).observe({type: 'measure'})`)
	for i := range 21 {
		state := []string{protocol.Configured, protocol.Running}[i%2]
		w.Ask(`window.drawn = []`)
		w.Ask(`window.framed = []`)
		many.turn("component250", state)
		w.Says("[data-box=component250]", state)
		frames = append(frames, browser.Ask[float64](w, `new Promise(done => setTimeout(() => done(Math.max(...window.framed)), 150))`))
		scripts = append(scripts, browser.Ask[float64](w, `Math.max(...window.drawn)`))
	}
	for i := range 21 { // what a frame takes of the processor depends less on what else runs
		state := []string{protocol.Configured, protocol.Running}[i%2]
		most := 0.0
		for _, f := range w.Frames(func() {
			many.turn("component250", state)
			w.Says("[data-box=component250]", state)
			browser.Ask[bool](w, `new Promise(done => setTimeout(() => done(true), 150))`)
		}) {
			most = max(most, f.Processor)
		}
		busy = append(busy, most)
	}
	many.mu.Lock()
	many.works = true
	many.mu.Unlock()
	w.Says("[data-box=component999] .numbers", "%")
	all := w.Frames(func() { // the numbers of all change
		was := browser.Ask[string](w, `document.querySelector('[data-box=component999]').textContent`)
		w.Await(fmt.Sprintf(`document.querySelector('[data-box=component999]').textContent !== %q`, was))
	})
	numbers := slices.MaxFunc(all, func(x, y browser.Frame) int { return cmp.Compare(x.Processor, y.Processor) }).Processor
	size := browser.Ask[float64](w, `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource').filter(e => e.name.includes('/web/'))].reduce((n, e) => n + e.decodedBodySize, 0)`)
	for range b.N {
		continue
	}
	// What a goal is of is missed by the median of many; the time of the processor by any.
	for what, c := range map[string]struct{ is, below float64 }{
		"ms until first paint": {median(paints), 200}, "bytes of the page": {size, 220_000}, "ms until an update": {median(updates), 100},
		"ms for a frame of 1,000": {median(frames), 16}, "ms of the processor for the worst frame of 1,000": {slices.Max(busy), 16}, "ms of the processor where all numbers change": {numbers, 16},
	} {
		if !(c.is > 0 && c.is < c.below) {
			b.Errorf("%.1f %s, which are to be below %.0f", c.is, what, c.below)
		}
	}
	b.ReportMetric(size/1000, "kB")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(paints), "ms/first-paint")
	b.ReportMetric(median(updates), "ms/update")
	b.ReportMetric(median(scripts), "ms/drawing-of-1000")
	b.ReportMetric(median(frames), "ms/frame-of-1000")
	b.ReportMetric(slices.Max(frames), "ms/worst-frame-of-1000")
	b.ReportMetric(median(busy), "processor-ms/frame-of-1000")
	b.ReportMetric(slices.Max(busy), "processor-ms/worst-frame-of-1000")
	b.ReportMetric(numbers, "processor-ms/worst-frame-of-1000-numbers")
	b.ReportMetric(slices.Max(paints), "ms/worst-first-paint")
	b.ReportMetric(slices.Max(updates), "ms/worst-update")
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
