package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

// world is what there is: containers by alias, and units by address.
type world struct {
	mu      sync.Mutex
	found   map[string][]netip.AddrPort
	failure error        // of looking for containers
	clients []netip.Addr // that names lead to; nil: all
	units   map[netip.AddrPort]*unit
}

func (w *world) Replicas(_ context.Context, alias string, _ int) ([]netip.AddrPort, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.failure != nil:
		return nil, w.failure
	case len(w.found[alias]) == 0:
		return nil, fmt.Errorf("%w has the name %q", discovery.ErrNone, alias)
	}
	return w.found[alias], nil
}

func (w *world) Clients(context.Context, string) ([]netip.Addr, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clients, w.clients == nil, nil
}

func (w *world) Running(ctx context.Context, alias string, _ []int) ([]netip.Addr, error) {
	found, err := w.Replicas(ctx, alias, 0)
	if err != nil {
		return nil, err
	}
	return []netip.Addr{found[0].Addr()}, nil
}

func (w *world) at(addr netip.AddrPort) mirror.Unit {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.units[addr]
}

// set changes which containers a node has.
func (w *world) set(alias string, found ...netip.AddrPort) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found[alias] = found
}

// unit is a unit in memory.
type unit struct {
	mu         sync.Mutex
	instance   string
	components []string // of the configuration
	entries    []wire.Entry
	oldest     int   // entries before it are no longer kept
	down       error // of every request
	grown      chan struct{}
	asked      int
	dismisses  bool // it answers at once, with nothing
	hangs      bool // it answers nothing, and keeps connections open
}

func newUnit(instance string, components ...string) *unit {
	u := &unit{instance: instance, components: components, grown: make(chan struct{})}
	u.write(wire.Entry{Kind: wire.EntryCheckpoint}, wire.Entry{Kind: wire.EntryBoot})
	return u
}

func (u *unit) write(entries ...wire.Entry) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range entries {
		e.Seq, e.Instance, e.Time = uint64(len(u.entries)+1), u.instance, time.Now()
		u.entries = append(u.entries, e)
	}
	u.wake()
}

func (u *unit) wake() {
	close(u.grown)
	u.grown = make(chan struct{})
}

// become changes the unit; requests that wait are answered.
func (u *unit) become(change func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change()
	u.wake()
}

func (u *unit) requests() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked
}

// state is what the unit says to who knows nothing.
func (u *unit) state() wire.Entry {
	id := wire.Identity{Instance: u.instance, Seq: uint64(len(u.entries)), Labels: map[string]string{"host": "h1"}}
	e := wire.Entry{Kind: wire.EntryHello, Seq: id.Seq, Instance: id.Instance, Unit: &id}
	for _, name := range u.components {
		c := wire.Checkpointed{Component: name, State: "deleted", Why: wire.Untouched, Since: time.Now()}
		for _, e := range u.entries {
			if e.Component == name {
				c = c.After(e, 64)
			}
		}
		e.Components = append(e.Components, c)
	}
	return e
}

func (u *unit) Journal(ctx context.Context, cursor string, wait time.Duration) (unitclient.Page, error) {
	u.mu.Lock()
	hangs := u.hangs
	u.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return unitclient.Page{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	u.mu.Lock()
	u.asked++
	u.mu.Unlock()
	for {
		u.mu.Lock()
		page, err, grown := u.page(cursor), u.down, u.grown
		dismisses, hangs := u.dismisses, u.hangs
		u.mu.Unlock()
		if hangs {
			page, err, dismisses, grown = unitclient.Page{}, nil, false, nil
			wait = time.Hour
		}
		if err != nil || dismisses || page.Reset || len(page.Entries) > 0 || wait == 0 {
			return page, err
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return page, nil
		}
	}
}

func (u *unit) page(cursor string) unitclient.Page {
	if cursor == unitclient.Now {
		return unitclient.Page{Instance: u.instance, Entries: []wire.Entry{u.state()}}
	}
	instance, number, _ := strings.Cut(cursor, ":")
	seq := 0
	_, _ = fmt.Sscan(number, &seq)
	page := unitclient.Page{Instance: u.instance, Reset: cursor != "" && (instance != u.instance || seq < u.oldest)}
	if page.Reset || cursor == "" {
		seq = u.oldest
	}
	page.Entries = append(page.Entries, u.entries[seq:]...)
	return page
}

// start and exit are the entries of an execution.
func start(component, id string) wire.Entry {
	return wire.Entry{Kind: wire.EntryStart, Component: component, State: "configured", Execution: &wire.Execution{
		ID: id, Component: component, Interface: "Standard", Operation: "start", Outcome: wire.OutcomeRunning, From: "configured",
	}}
}

func exit(component, id string, outcome wire.Outcome) wire.Entry {
	e := start(component, id)
	x := *e.Execution
	e.Kind, x.Outcome, x.To = wire.EntryExit, outcome, "configured"
	if outcome == wire.OutcomeSucceeded {
		x.To, e.StartedFrom = "running", "configured"
	}
	e.State, e.Why, e.Execution = x.To, "Standard.start "+string(outcome), &x
	return e
}

func gone(component string) wire.Entry {
	return wire.Entry{Kind: wire.EntryGone, Component: component, State: "configured", Why: "it died"}
}

var (
	first  = netip.MustParseAddrPort("10.0.0.1:9001")
	second = netip.MustParseAddrPort("10.0.0.2:9001")
)

// story runs a test with a mirror of a backend with one replica and a store, in
// time that passes by itself.
func story(t *testing.T, tell func(*testing.T, *world, *mirror.Mirror)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			found: map[string][]netip.AddrPort{"backend": {first}, "store": {second}},
			units: map[netip.AddrPort]*unit{first: newUnit("i1", "api", "log"), second: newUnit("i2", "api", "log")},
		}
		m := mirror.New(mirror.Options{Containers: w, Events: 20, Nodes: []mirror.Spec{
			{Name: "backend", Alias: "backend", Port: 9001, Unit: w.at},
			{Name: "store", Alias: "store"},
		}})
		defer m.Close()
		synctest.Wait()
		tell(t, w, m)
	})
}

// replicas gives what is shown of the backend.
func replicas(m *mirror.Mirror) []*mirror.Replica { return m.Snapshot().Node("backend").Replicas }

// kinds reads what a stream has now, as "kind component state".
func kinds(t *testing.T, s *mirror.Stream) []string {
	t.Helper()
	var all []string
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		events, err := s.Next(ctx)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			all = append(all, strings.TrimSpace(strings.Join([]string{e.Kind, e.Component, e.State}, " ")))
		}
	}
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
}

func TestWhatTheJournalSaysIsShown(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		before := m.Snapshot()
		r := before.Node("backend").Replicas[0]
		if !before.Complete() || r.Instance != "i1" || r.Labels["host"] != "h1" || len(r.Components) != 2 || r.Component("api").State != "deleted" || !r.Reachable() {
			t.Fatalf("got %+v", r)
		}
		w.units[first].write(start("api", "x1"))
		synctest.Wait()
		if c := replicas(m)[0].Component("api"); c.State != "configured" || c.Executing() == nil || c.Seq != 3 {
			t.Errorf("while it starts: %+v", c)
		}
		w.units[first].write(exit("api", "x1", wire.OutcomeSucceeded), gone("api"), start("api", "x2"), exit("api", "x2", wire.OutcomeSucceeded))
		synctest.Wait()
		c := replicas(m)[0].Component("api")
		if c.State != "running" || !c.Open() || c.Executing() != nil || len(c.Recent) != 2 || c.Recent[0].Gone.IsZero() || c.Recent[0].Stopped || c.Why != "Standard.start succeeded" {
			t.Errorf("after it fell and started again: %+v", c)
		}
		if r.Component("api").State != "deleted" || before.Version >= m.Snapshot().Version {
			t.Error("a snapshot has changed")
		}
		select {
		case <-before.Superseded():
		default:
			t.Error("nobody is told that there is a newer snapshot")
		}
	})
}

func TestAnIdleUnitIsAskedTwiceAMinute(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		version, asked := m.Snapshot().Version, w.units[first].requests()
		time.Sleep(time.Hour)
		synctest.Wait()
		if more := w.units[first].requests() - asked; more > 120 {
			t.Errorf("it was asked %d times", more)
		}
		if now := m.Snapshot().Version; now != version {
			t.Errorf("nothing has changed, %d times", now-version)
		}
		if age := time.Since(replicas(m)[0].Heard()); age > 30*time.Second {
			t.Errorf("it was heard %v ago", age)
		}
	})
}

func TestWhatAUnitSaidLastStaysUntilItIsHeardAgain(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		u, events := w.units[first], m.Stream("")
		u.write(start("api", "x1"), exit("api", "x1", wire.OutcomeSucceeded))
		synctest.Wait()
		cut := time.Now()
		u.become(func() { u.down = errors.New("no route to host") })
		time.Sleep(time.Minute)
		r := replicas(m)[0]
		if r.Reachable() || !r.Since.Equal(cut) || r.Heard().After(cut) || r.Component("api").State != "running" || r.Problem.Error() != "no route to host" {
			t.Errorf("got %+v, heard %v", r, r.Heard())
		}
		u.become(func() { u.down = nil })
		u.write(gone("api"))
		time.Sleep(3 * time.Second)
		if r = replicas(m)[0]; !r.Reachable() || r.Component("api").State != "configured" {
			t.Errorf("got %+v", r)
		}
		equal(t, kinds(t, events), "state api deleted", "state log deleted", "start api configured", "exit api running",
			"unreachable", "reachable", "gone api configured")
	})
}

func TestAnotherInstanceBeginsEmptyBesideTheOneThatIsGone(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		w.units[first].write(start("api", "x1"))
		synctest.Wait()
		events := m.Stream(lastID(t, m))
		u := w.units[first]
		u.become(func() { u.instance, u.entries = "i9", nil })
		time.Sleep(time.Second)
		now := replicas(m)
		if len(now) != 2 || now[0].Instance != "i9" || now[0].Component("api").State != "deleted" || len(now[0].Component("api").Recent) != 0 {
			t.Fatalf("got %+v", now)
		}
		if now[1].Instance != "i1" || now[1].Gone.IsZero() || now[1].Component("api").Executing() == nil {
			t.Errorf("got %+v", now[1])
		}
		equal(t, kinds(t, events), "vanished", "state api deleted", "state log deleted")
		time.Sleep(time.Minute)
		if now := replicas(m); len(now) != 1 {
			t.Errorf("after a minute %d are shown", len(now))
		}
		if known := m.Removed(); len(known) != 1 || known[0].Instance != "i1" || len(known[0].Component("api").Recent) != 1 {
			t.Errorf("remembered for the history: %+v", known)
		}
		m.Recall([]*mirror.Replica{
			{Node: "backend", Instance: "i9", Gone: time.Now()}, // it exists
			{Node: "backend", Instance: "i1", Gone: time.Now()}, // it is known
			{Node: "backend", Instance: "i0", Gone: time.Now().Add(-30 * time.Minute)},
			{Node: "backend", Instance: "old", Gone: time.Now().Add(-2 * time.Hour)},
		})
		if known := m.Removed(); len(known) != 2 || known[0].Instance != "i0" || known[1].Instance != "i1" || len(known[1].Components) == 0 {
			t.Errorf("with what another manager has seen: %+v", known)
		}
		time.Sleep(time.Hour)
		if known := m.Removed(); len(known) != 0 {
			t.Errorf("after an hour %d are remembered", len(known))
		}
	})
}

// lastID is the id of what has happened last.
func lastID(t *testing.T, m *mirror.Mirror) string {
	t.Helper()
	events, err := m.Stream("").Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return events[0].ID
}

func TestReplicasComeAndGo(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		w.set("backend", second, first)
		time.Sleep(2 * time.Second)
		if now := replicas(m); len(now) != 2 || now[0].Address != first || now[1].Instance != "i2" {
			t.Fatalf("got %+v", now)
		}
		events := m.Stream(lastID(t, m))
		w.set("backend", second)
		time.Sleep(2 * time.Second)
		now := replicas(m)
		if len(now) != 2 || now[0].Instance != "i2" || now[1].Instance != "i1" || now[1].Gone.IsZero() || now[1].Reachable() {
			t.Fatalf("got %+v", now)
		}
		w.units[first].write(start("log", "x1"))
		w.set("backend", first, second)
		time.Sleep(2 * time.Second)
		if now := replicas(m); len(now) != 2 || !now[0].Reachable() || now[0].Component("log").Executing() == nil {
			t.Errorf("it is back: got %+v", now[0])
		}
		equal(t, kinds(t, events), "vanished", "reachable", "start log configured")
		w.set("backend")
		time.Sleep(62 * time.Second)
		if n := m.Snapshot().Node("backend"); len(n.Replicas) != 0 || !errors.Is(n.Problem, discovery.ErrNone) {
			t.Errorf("got %+v", n)
		}
	})
}

func TestWhoCannotLookForReplicasKeepsThoseItKnows(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		w.mu.Lock()
		w.failure = errors.New("the name server does not answer")
		w.mu.Unlock()
		w.units[first].write(start("api", "x1"))
		time.Sleep(time.Minute)
		n := m.Snapshot().Node("backend")
		if len(n.Replicas) != 1 || !n.Replicas[0].Reachable() || n.Replicas[0].Component("api").Executing() == nil || n.Problem == nil {
			t.Errorf("got %+v", n)
		}
	})
}

func TestWhoIsNeitherFoundNorHeardIsGone(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		w.set("backend", first, second)
		time.Sleep(2 * time.Second)
		w.units[second].become(func() { w.units[second].down = errors.New("no route to host") })
		w.mu.Lock()
		w.failure = fmt.Errorf("%w: server misbehaving", discovery.ErrUnanswered)
		w.mu.Unlock()
		time.Sleep(10 * time.Second)
		if now := replicas(m); len(now) != 2 || !now[0].Reachable() || now[0].Instance != "i1" || now[1].Gone.IsZero() {
			t.Errorf("got %+v", now)
		}
	})
}

func TestAStandaloneContainerIsDownAfterTwoMisses(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		up := func() bool { return len(m.Snapshot().Node("store").Running) == 1 }
		if !up() {
			t.Fatal("it is down")
		}
		time.Sleep(time.Second)
		w.set("store")
		time.Sleep(2 * time.Second)
		if !up() {
			t.Error("it is down after one miss")
		}
		time.Sleep(2 * time.Second)
		if up() || m.Snapshot().Node("store").Problem == nil {
			t.Error("it is up after two maxMisses")
		}
		w.set("store", second)
		time.Sleep(2 * time.Second)
		if !up() {
			t.Error("it is down")
		}
	})
}

func TestAJournalThatDoesNotReachBackIsReadAnew(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		u := w.units[first]
		u.become(func() { u.down = errors.New("no route to host") })
		time.Sleep(time.Second)
		u.write(start("api", "x1"), exit("api", "x1", wire.OutcomeSucceeded))
		u.become(func() { u.down, u.oldest = nil, 3 })
		time.Sleep(3 * time.Second)
		now := replicas(m)
		if len(now) != 1 || now[0].Component("api").State != "running" || !now[0].Component("api").Open() || now[0].Component("log") == nil {
			t.Errorf("got %+v", now)
		}
	})
}

func TestAfterAReloadOrABootTheUnitIsGreetedAgain(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		u := w.units[first]
		events := m.Stream(lastID(t, m))
		u.become(func() { u.components = []string{"api", "new"} })
		u.write(wire.Entry{Kind: wire.EntryReload}, start("api", "x1"))
		synctest.Wait()
		if r := replicas(m)[0]; r.Component("new") == nil || r.Component("log") != nil || r.Component("api").Executing() == nil || r.Seq != 4 {
			t.Errorf("after a reload: %+v", r)
		}
		u.write(wire.Entry{Kind: wire.EntryBoot}, exit("api", "x1", wire.OutcomeLost))
		synctest.Wait()
		if r := replicas(m)[0]; r.Component("api").Recent[0].Outcome != wire.OutcomeLost {
			t.Errorf("after a boot: %+v", r)
		}
		equal(t, kinds(t, events), "start api configured", "exit api configured")
	})
}

func TestWhoComesBackMissesNothingOrIsToldSo(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		u, id := w.units[first], lastID(t, m)
		slow := m.Stream(id)
		u.write(start("api", "x1"))
		synctest.Wait()
		equal(t, kinds(t, m.Stream(id)), "start api configured")
		for range 30 {
			u.write(gone("api"))
		}
		synctest.Wait()
		if _, err := slow.Next(t.Context()); !errors.Is(err, mirror.ErrBehind) {
			t.Errorf("who did not read gets %v", err)
		}
		for _, id := range []string{id, "another:7", "nonsense"} {
			equal(t, kinds(t, m.Stream(id)), "missing", "state api configured", "state log deleted")
		}
		epoch, _, _ := strings.Cut(id, ":")
		equal(t, kinds(t, m.Stream(epoch+":999999")), "missing", "state api configured", "state log deleted")
		last := kinds(t, m.Stream(mirror.Latest+"2"))
		if all := kinds(t, m.Stream(mirror.Latest+"1000")); len(last) != 2 || len(all) < 2 || !slices.Equal(all[len(all)-2:], last) {
			t.Errorf("the last two events are %q, of %q", last, all)
		}
	})
}

// TestWhoHasNotAllStatesIsToldSo: they have one id, and who has read some comes back for
// all.
func TestWhoHasNotAllStatesIsToldSo(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		for _, after := range []string{"", "another:7"} {
			events, err := m.Stream(after).Next(t.Context())
			if err != nil || len(events) < 2 {
				t.Fatalf("%+v, %v", events, err)
			}
			for i, e := range events {
				if e.More != (i < len(events)-1) || e.ID != events[0].ID {
					t.Errorf("after %q event %d of %d is %+v", after, i, len(events), e)
				}
			}
			stream := m.Stream(events[0].ID)
			w.units[first].write(gone("api"))
			synctest.Wait()
			if next, err := stream.Next(t.Context()); err != nil || next[0].More || next[0].ID == events[0].ID {
				t.Errorf("then %+v, %v", next, err)
			}
		}
	})
}

func TestAnEntryCanBeAwaited(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		u := w.units[first]
		await := func(instance string, seq uint64) <-chan error {
			done := make(chan error, 1)
			go func() { done <- m.Await(t.Context(), "backend", first, instance, seq) }()
			synctest.Wait()
			return done
		}
		if err := <-await("i1", 2); err != nil {
			t.Error(err)
		}
		third, fifth := await("i1", 3), await("i1", 5)
		u.write(start("api", "x1"))
		if err := <-third; err != nil || replicas(m)[0].Seq != 3 {
			t.Errorf("got %v, at %d", err, replicas(m)[0].Seq)
		}
		next := await("i9", 1)
		select {
		case <-fifth:
			t.Error("what is not there yet is not awaited")
		case <-next:
			t.Error("an instance that is not there yet is not awaited")
		default:
		}
		u.become(func() { u.instance, u.entries = "i9", nil })
		u.write(wire.Entry{Kind: wire.EntryBoot})
		if err := errors.Join(<-fifth, <-next); err != nil || replicas(m)[0].Instance != "i9" {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.When(ctx, func(*mirror.Snapshot) bool { return false }); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		for i := range 50 {
			id := fmt.Sprint("x", i)
			w.units[first].write(start("api", id), exit("api", id, wire.OutcomeSucceeded), gone("api"))
		}
		synctest.Wait()
		c := replicas(m)[0].Component("api")
		if len(c.Recent) != 17 || c.Recent[16].ID != "x49" { // 16 starts in a row that died, and one
			t.Errorf("%d executions are kept", len(c.Recent))
		}
	})
}
