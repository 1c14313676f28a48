package component

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/dice"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/journal"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// tale is a story of a unit's ledger and of its journal in a folder: of
// executions that begin and end, and of containers that are restarted.
type tale struct {
	t    *testing.T
	dice *dice.Dice
	dir  string

	ledger   *ledger
	journal  *journal.Journal
	live     []*execution
	openings map[string]int // the latest of a component, in this life
	halting  map[string]int // stops under way without an operation
	known    []string       // ids that were begun
	ended    map[string]int // how often the end of an id came into the journal
	entries  int
	told     []string
}

var taleComponents = map[string]lifecycle{
	"api": lifecycleOf("Standard.create", "Standard.configure", "Standard.start", "Standard.stop", "Standard.delete"),
	"gui": lifecycleOf("Standard.create", "Standard.start", "Standard.stop"),
	"log": {kinds: kindsOf("Standard.start", "Standard.stop")}, // without a protocol
}

var taleOperations = []struct {
	name string
	kind protocol.Kind
}{
	{"Standard.create", protocol.KindRun},
	{"Standard.configure", protocol.KindRun},
	{"Standard.start", protocol.KindStart},
	{"Standard.stop", protocol.KindStop},
	{"Standard.start", protocol.KindStart},
	{"Standard.delete", protocol.KindRun},
}

func newTale(t *testing.T, bytes []byte) *tale {
	t.Helper()
	s := &tale{t: t, dice: dice.New(bytes), dir: t.TempDir(), ended: map[string]int{}}
	s.boot()
	return s
}

// boot begins a life: what the journal has is all that the ledger knows.
func (s *tale) boot() {
	s.t.Helper()
	before := ""
	if s.ledger != nil {
		before = s.standing()
		if err := s.journal.Close(); err != nil {
			s.t.Fatal(err)
		}
	}
	l := newLedger(slog.New(slog.DiscardHandler), time.Now, taleComponents)
	opened, replay, err := journal.Open(s.dir, journal.Options{
		SegmentBytes: 1 << 10, Segments: 2, Checkpoint: l.checkpoint,
		Apply: func(e wire.Entry) { s.heard(e); l.apply(e) },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(replay.Notes) > 0 {
		s.fatal("the journal was damaged: %q", replay.Notes)
	}
	l.attach(opened, replay.Entries)
	s.ledger, s.journal, s.live = l, opened, nil
	s.openings, s.halting = map[string]int{}, map[string]int{}
	if after := s.standing(); before != "" && after != before {
		s.fatal("what the journal has is not what was told; before\n%s\nafter\n%s", before, after)
	}
	if err := l.lockedBoot(); err != nil {
		s.t.Fatal(err)
	}
	s.say("a boot")
	for name, c := range l.statuses {
		if c.open() || c.executing() != nil {
			s.fatal("after a boot %s is open in %s, or executing", name, c.state)
		}
	}
}

// heard counts what came into the journal.
func (s *tale) heard(e wire.Entry) {
	s.entries++
	if e.Kind == wire.EntryExit {
		s.ended[e.Execution.ID]++
	}
}

// standing is all that the ledger knows.
func (s *tale) standing() string {
	s.t.Helper()
	type component struct {
		State, StartedFrom, Why string
		Since                   time.Time
		Seq                     uint64
		Recent                  []wire.Execution
	}
	all := map[string]component{}
	for name, c := range s.ledger.statuses {
		all[name] = component{c.state, c.startedFrom, c.why, c.since, c.seq, c.recent}
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), `"Recent": []`, `"Recent": null`)
}

func (s *tale) say(format string, args ...any) {
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

func (s *tale) fatal(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s\nafter %s", fmt.Sprintf(format, args...), strings.Join(s.told, ", "))
}

func (s *tale) component() string { return []string{"api", "gui", "log"}[s.dice.Throw(3)] }

// begin asks for an operation, sometimes again for one that is known.
func (s *tale) begin() {
	s.t.Helper()
	component, operation := s.component(), taleOperations[s.dice.Throw(len(taleOperations))]
	id := fmt.Sprintf("x%d", len(s.known))
	if len(s.known) > 0 && s.dice.Throw(6) == 0 {
		id = s.known[s.dice.Throw(len(s.known))]
	}
	x := &execution{id: id, component: component, operation: op(operation.name), kind: operation.kind, done: make(chan struct{})}
	x.ctx, x.cancel = context.WithCancelCause(s.t.Context())
	before, entries := s.standing(), s.entries
	begun, fresh, err := s.ledger.begin(x, wire.ExecuteRequest{})
	s.say("%s %s of %s (fresh %t, %v)", id, operation.name, component, fresh, err)
	switch {
	case !fresh && (s.entries != entries || s.standing() != before):
		s.fatal("what was not begun changed something")
	case fresh && begun.Outcome != wire.OutcomeRunning:
		s.fatal("%s begins as %s", id, begun.Outcome)
	case fresh && s.halting[component] > 0 && x.cancels == nil:
		s.fatal("%s begins while processes of %s are being stopped", id, component)
	case fresh && s.entries != entries+1:
		s.fatal("a start has %d entries", s.entries-entries)
	case fresh:
		s.live = append(s.live, x)
		s.known = append(s.known, id)
	}
}

// end ends an execution in some way.
func (s *tale) end() {
	s.t.Helper()
	if len(s.live) == 0 {
		return
	}
	n := s.dice.Throw(len(s.live))
	x := s.live[n]
	s.live = append(s.live[:n:n], s.live[n+1:]...)
	if x.cancels != nil {
		if s.ledger.running(x.cancels.id) != nil {
			s.live = append(s.live, x) // it waits for the end of that
			return
		}
		if !s.ledger.stillAllowed(x) {
			s.finish(x, executionResult{outcome: wire.OutcomeSucceeded, nothing: true})
			return
		}
	}
	outcomes := []wire.Outcome{wire.OutcomeSucceeded, wire.OutcomeSucceeded, wire.OutcomeFailed, wire.OutcomeCancelled, wire.OutcomeTimeout}
	end := executionResult{outcome: outcomes[s.dice.Throw(len(outcomes))], exit: &process.Exit{}}
	end.left = x.kind == protocol.KindStart && end.outcome == wire.OutcomeSucceeded && s.dice.Throw(4) > 0
	s.finish(x, end)
}

func (s *tale) finish(x *execution, end executionResult) {
	s.t.Helper()
	if opening := s.ledger.finish(s.t.Context(), x, end); opening != 0 {
		s.openings[x.component] = opening
	}
	s.say("%s %s (left %t)", x.id, end.outcome, end.left)
	if known, ok := s.ledger.execution(x.id); ok && known.Outcome != end.outcome {
		s.fatal("%s ended as %s and is %s", x.id, end.outcome, known.Outcome)
	}
	switch c := s.ledger.statuses[x.component]; {
	case end.nothing || end.outcome != wire.OutcomeSucceeded:
	case x.kind == protocol.KindStop && c.open():
		s.fatal("%s has stopped %s, which is open", x.id, x.component)
	case end.left && !c.open():
		s.fatal("%s has started %s, which is not open", x.id, x.component)
	}
}

// lose ends what a start of a component left.
func (s *tale) lose() {
	component := s.component()
	if opening := s.openings[component]; opening != 0 && s.halting[component] == 0 && !s.ledger.stopExecutes(s.ledger.statuses[component]) {
		s.ledger.recordGone(s.t.Context(), component, opening, "it ended", testDeath)
		s.say("%s has gone", component)
		if c := s.ledger.statuses[component]; c.open() {
			s.fatal("%s is open in %s", component, c.state)
		}
	}
}

// halt begins or ends a stop of a component's processes without an operation.
func (s *tale) halt() {
	s.t.Helper()
	component := s.component()
	if s.halting[component] == 0 || s.dice.Throw(4) == 0 {
		s.halting[component]++
		s.ledger.BeginStop(component)
		s.say("%s is being stopped", component)
		return
	}
	nothingLeft := s.dice.Throw(3) > 0
	s.halting[component]--
	s.ledger.endStop(s.t.Context(), component, "its processes were stopped", nothingLeft, nil)
	s.say("%s was stopped (nothing left: %t)", component, nothingLeft)
	if c := s.ledger.statuses[component]; nothingLeft && c.open() {
		s.fatal("%s is open in %s", component, c.state)
	}
}

// check is what must be so at any time.
func (s *tale) check() {
	s.t.Helper()
	for name, c := range s.ledger.statuses {
		under := 0
		for _, x := range c.recent {
			if !x.Outcome.Done() {
				under++
			}
			if times := s.ended[x.ID]; times > 1 || x.Outcome.Done() != (times == 1) {
				s.fatal("%s is %s, and its end came %d times", x.ID, x.Outcome, times)
			}
		}
		if stopping := s.ledger.stopExecutes(c); under > 2 || under == 2 && !stopping {
			s.fatal("%s executes %d operations at once", name, under)
		}
		if life := taleComponents[name]; life.protocol == nil && c.state != unknownState {
			s.fatal("%s has no protocol and is %s", name, c.state)
		}
	}
}

// tell plays a story to its end, where everything that was begun has ended once.
func (s *tale) tell() {
	s.t.Helper()
	for s.dice.Left() {
		switch s.dice.Throw(12) {
		case 0:
			s.boot()
		case 1:
			s.lose()
		case 2:
			s.halt()
		case 3, 4, 5, 6:
			s.end()
		default:
			s.begin()
		}
		s.check()
	}
	s.boot()
	s.check()
	for _, id := range s.known {
		if s.ended[id] != 1 {
			s.fatal("%s ended %d times", id, s.ended[id])
		}
	}
	if err := s.journal.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func TestEveryExecutionEndsOnceAndTheJournalTellsWhatWasTold(t *testing.T) {
	t.Parallel()
	seed := dice.Seed()
	t.Logf("seed %d", seed) // shown when it fails
	random := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		bytes := make([]byte, 300)
		for i := range bytes {
			bytes[i] = byte(random.Uint32())
		}
		newTale(t, bytes).tell()
	}
}

func FuzzLedger(f *testing.F) {
	f.Add([]byte{7, 0, 0, 1, 3, 0, 7, 0, 2, 1, 3, 0, 0, 3, 0, 1, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		newTale(t, bytes[:min(len(bytes), 300)]).tell()
	})
}
