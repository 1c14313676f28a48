package removed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/signature"
	"github.com/toskose/toskose/unit/wire"
)

// gone returns a removed replica with executions that differ as much as those of a real application.
func gone(instance string, executions int) *mirror.Replica {
	r := &mirror.Replica{Node: "backend", Address: netip.MustParseAddrPort("10.0.0.7:9001"), Instance: instance, Gone: time.Now()}
	c := &mirror.Component{Component: "api"}
	for i := range executions {
		code := i % 3
		c.Recent = append(c.Recent, wire.Execution{
			ID: fmt.Sprintf("goal-%d-%x", i, rand.Uint64()), By: "goal", Component: "api", Interface: "Standard", Operation: "start",
			Outcome: wire.OutcomeFailed, Started: time.Now().Add(time.Duration(i) * 777 * time.Millisecond), Ended: time.Now().Add(time.Duration(i) * 778 * time.Millisecond),
			Exit: wire.Exit{ExitCode: &code}, PID: 100 + i, Seq: uint64(i), Last: "bind: address already in use",
		})
	}
	r.Components = []*mirror.Component{c}
	return r
}

func TestTenThousandExecutionsFitIntoADocument(t *testing.T) {
	t.Parallel()
	var all []*mirror.Replica
	for i := range 100 {
		all = append(all, gone(fmt.Sprintf("i%03d", i), 100))
	}
	text, err := encode(all)
	if err != nil {
		t.Fatal(err)
	}
	again, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes of at most %d", len(text), wire.MaxRemovedBytes)
	if len(text) > wire.MaxRemovedBytes-reserved || len(again) != len(all) || again[99].Instance != "i099" || again[99].Components[0].Recent[99].Last != "bind: address already in use" {
		t.Errorf("%d of %d containers in %d bytes", len(again), len(all), len(text))
	}
}

func TestTheOldestAreOmittedWhereADocumentIsTooLarge(t *testing.T) {
	t.Parallel()
	var all []*mirror.Replica
	for i := range 8 {
		r := gone(fmt.Sprintf("i%d", i), 200)
		for k := range r.Components[0].Recent {
			r.Components[0].Recent[k].Last = fmt.Sprintf("%x%x%x%x", rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64()) + fmt.Sprint(rand.Perm(200))
		}
		all = append(all, r)
	}
	text, err := encode(all)
	if err != nil {
		t.Fatal(err)
	}
	some, err := decode(text)
	if err != nil || len(text) > wire.MaxRemovedBytes-reserved || len(some) == 0 || len(some) == len(all) || some[len(some)-1].Instance != "i7" {
		t.Errorf("%d containers in %d bytes, %v", len(some), len(text), err)
	}
}

func TestADamagedDocumentIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", "[]", `{"records":"bm8gZ3ppcA=="}`, `{"records":7}`} {
		if all, err := decode([]byte(text)); err == nil {
			t.Errorf("%q is decoded to %v", text, all)
		}
	}
}

// units are units that store documents.
type units map[string]*unit

type unit struct {
	document wire.Document
	down     bool
	writes   int
}

func (u units) Copies(_, instance string) keep.Copies { return u[instance] }

func (u *unit) Read(context.Context) (wire.Document, error) {
	if u.down {
		return wire.Document{}, errors.New("it does not answer")
	}
	return u.document, nil
}

func (u *unit) Write(_ context.Context, d wire.Document) error {
	switch {
	case u.down:
		return errors.New("it does not answer")
	case d.Replaces != u.document.Revision && d.Revision.Compare(u.document.Revision) <= 0:
		return &keep.NewerError{Revision: u.document.Revision}
	}
	u.document, u.writes = d, u.writes+1
	return nil
}

// manager is a manager of these units: what it remembers, and its exchange.
type manager struct {
	*Exchange
	known []*mirror.Replica
}

func managerOf(t *testing.T, u units, secret string) *manager {
	t.Helper()
	m := &manager{}
	m.Exchange = New(Options{
		Removed: func() []*mirror.Replica { return m.known },
		Recall: func(more []*mirror.Replica) {
			for _, r := range more {
				if !slices.ContainsFunc(m.known, func(k *mirror.Replica) bool { return k.Instance == r.Instance }) {
					m.known = append(m.known, r)
				}
			}
		},
		Snapshot: func() *mirror.Snapshot {
			n := &mirror.Node{Name: "backend"}
			for instance := range u {
				n.Replicas = append(n.Replicas, &mirror.Replica{Node: "backend", Instance: instance})
			}
			return &mirror.Snapshot{Nodes: []*mirror.Node{n}}
		},
		Copies: u.Copies, Keys: func() signature.Keys { return signature.NewKeys([]string{secret}) }, Logger: slog.New(slog.DiscardHandler),
	})
	return m
}

func (m *manager) knows(instances ...string) bool {
	return slices.Equal(instancesOf(m.known), instances)
}

func cluster(n int) units {
	u := units{}
	for i := range n {
		u[fmt.Sprintf("unit%d", i)] = &unit{}
	}
	return u
}

func TestTheNextManagerKnowsRemovedContainers(t *testing.T) {
	t.Parallel()
	u := cluster(12)
	first := managerOf(t, u, "s")
	first.known = append(first.known, gone("a", 3))
	first.look(t.Context())
	stored := 0
	for _, of := range u {
		stored += of.writes
	}
	if stored != holders {
		t.Errorf("%d units store the document, want %d", stored, holders)
	}
	for range 3 {
		first.look(t.Context())
	}
	for name, of := range u {
		if of.writes > 1 {
			t.Errorf("%s was written %d times for one container", name, of.writes)
		}
	}
	next := managerOf(t, u, "s")
	next.look(t.Context())
	if !next.knows("a") || len(next.known[0].Components[0].Recent) != 3 {
		t.Errorf("the next manager knows %+v", next.known)
	}
}

func TestTwoManagersLearnFromEachOther(t *testing.T) {
	t.Parallel()
	u := cluster(3)
	one, two := managerOf(t, u, "s"), managerOf(t, u, "s")
	one.look(t.Context())
	two.look(t.Context())
	one.known, two.known = append(one.known, gone("a", 1)), append(two.known, gone("b", 1))
	one.look(t.Context())
	two.look(t.Context()) // its document is refused
	two.look(t.Context()) // it has read the other one's
	third := managerOf(t, u, "s")
	third.look(t.Context())
	if !third.knows("a", "b") || !two.knows("a", "b") {
		t.Errorf("the second manager knows %q, the third %q", instancesOf(two.known), instancesOf(third.known))
	}
}

func TestAForgedDocumentIsIgnoredAndReplaced(t *testing.T) {
	t.Parallel()
	highest := wire.Revision{Counter: math.MaxUint64, ID: "zzzz"}
	text, err := encode([]*mirror.Replica{gone("forged", 1)})
	if err != nil {
		t.Fatal(err)
	}
	other := wire.Document{Revision: wire.Revision{Counter: 1, ID: "a"}, Content: text}
	for name, content := range map[string][]byte{
		"without a signature":         text,
		"signed with another key":     signature.NewKeys([]string{"guess"}).Sign(wire.RemovedDocument, wire.Document{Revision: highest, Content: text}),
		"signed as another document":  signature.NewKeys([]string{"s"}).Sign(wire.GoalDocument, wire.Document{Revision: highest, Content: text}),
		"signed for another revision": signature.NewKeys([]string{"s"}).Sign(wire.RemovedDocument, other),
		"not a document":              []byte("{"),
	} {
		u := cluster(2)
		u["unit0"].document = wire.Document{Revision: highest, Content: content}
		m := managerOf(t, u, "s")
		m.look(t.Context())
		if len(m.known) > 0 {
			t.Errorf("%s: the manager knows %q", name, instancesOf(m.known))
		}
		m.known = append(m.known, gone("a", 1))
		m.look(t.Context())
		m.look(t.Context())
		if u["unit0"].writes != 1 || u["unit1"].writes != 1 {
			t.Errorf("%s: written %d and %d times", name, u["unit0"].writes, u["unit1"].writes)
		}
	}
}

func TestAUnitThatDoesNotAnswerIsWrittenLater(t *testing.T) {
	t.Parallel()
	u := cluster(2)
	u["unit0"].down = true
	m := managerOf(t, u, "s")
	m.known = append(m.known, gone("a", 1))
	m.look(t.Context())
	u["unit0"].down = false
	m.look(t.Context())
	if u["unit0"].writes != 1 || u["unit1"].writes != 1 {
		t.Errorf("written %d and %d times", u["unit0"].writes, u["unit1"].writes)
	}
}
