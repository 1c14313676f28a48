package logs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/dice"
	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/logs"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	unitlogs "github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

const (
	start = "api:Standard.start stdout"
	fails = "api:Standard.start stderr"
	push  = "api:api_interface.push_default stdout"
	gui   = "gui:Standard.start stdout"
)

// clock is that of all units; each line is later than the one before.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) tick() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(20 * time.Millisecond)
	return c.now
}

// world is an application with api on two replicas and gui on one.
type world struct {
	t       *testing.T
	logs    *logs.Logs
	units   []*fakeunit.Unit // b1, b2, f1
	found   fakeunit.Containers
	began   time.Time
	written map[string][]string // by "instance process stream"
	held    []said              // that next has not given
	kinds   []rest.LogKind      // of these
}

func newWorld(t *testing.T, o unitlogs.Options, wrap func(http.Handler) http.Handler) *world {
	t.Helper()
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	c := &clock{now: began}
	o.Now = c.tick
	w := &world{t: t, began: began, written: map[string][]string{}, found: fakeunit.Containers{}}
	for _, instance := range []string{"b1", "b2", "f1"} {
		u, node := fakeunit.Backend(instance, nil, fakeunit.End{}), "backend"
		if instance == "f1" {
			u, node = &fakeunit.Unit{Instance: instance}, "frontend"
		}
		u.Wrap, u.Files = wrap, map[string]*unitlogs.File{}
		for _, name := range []string{start, fails, push, gui} {
			u.Files[name] = unitlogs.New(filepath.Join(t.TempDir(), "log"), o)
			t.Cleanup(func() { u.Files[name].Close() })
		}
		w.units = append(w.units, u)
		w.found[node] = append(w.found[node], u.Start(t, map[string]string{"api": "configured"}))
	}
	app, err := topology.New(fakeunit.Thinking(), fakeunit.PasswordOf)
	if err != nil {
		t.Fatal(err)
	}
	f := fleet.New(fleet.Options{
		Model: app, Containers: w.found, Logger: slog.New(slog.DiscardHandler),
		Poll: time.Second, Patience: time.Second, Backoff: time.Millisecond, Discover: 10 * time.Millisecond, Settle: time.Second,
	})
	t.Cleanup(f.Close)
	w.logs = logs.New(app, f)
	return w
}

// print adds a line to a log of a unit.
func (w *world) print(unit int, log, line string) {
	w.t.Helper()
	u := w.units[unit]
	if _, err := u.Files[log].Write([]byte(line + "\n")); err != nil {
		w.t.Error(err)
	}
	w.written[u.Instance+" "+log] = append(w.written[u.Instance+" "+log], line)
}

func (w *world) open(q rest.LogQuery) *logs.Reader {
	w.t.Helper()
	r, err := w.logs.Open(w.t.Context(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// said is an entry as clients get it.
type said struct {
	Node, Replica, Component, Operation, Stream, Line, Base64, Why string
	Time                                                           time.Time
	Bytes                                                          int64
	Partial                                                        bool
}

func told(t *testing.T, e rest.LogLine) said {
	t.Helper()
	text, err := json.Marshal(&e)
	if err != nil {
		t.Fatal(err)
	}
	var s said
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// all reads to the end.
func (w *world) all(q rest.LogQuery) (lines []string) {
	w.t.Helper()
	r := w.open(q)
	defer r.Close()
	for {
		entries, err := r.Next(w.t.Context())
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range entries {
			if e.Kind != rest.LogPrinted {
				lines = append(lines, string(e.Kind))
				continue
			}
			lines = append(lines, told(w.t, e).Line)
		}
	}
}

func number(n int) *int { return &n }

func TestLinesOfAllReplicasComeInTheOrderInWhichTheyWereWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unitlogs.Options{}, nil)
	var want []string
	for i := range 30 {
		line := fmt.Sprintf("line %d", i)
		w.print(i%3, []string{start, fails, gui}[i%3], line)
		want = append(want, line)
	}
	if got := w.all(rest.LogQuery{}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	at := func(n int) time.Time { return w.began.Add(time.Duration(n+1) * 20 * time.Millisecond) } // of line n
	for name, c := range map[string]struct {
		q    rest.LogQuery
		want string
	}{
		"a node":          {rest.LogQuery{Of: []string{"frontend"}}, "2 5 8 11 14 17 20 23 26 29"},
		"a component":     {rest.LogQuery{Of: []string{"gui"}}, "2 5 8 11 14 17 20 23 26 29"},
		"an operation":    {rest.LogQuery{Of: []string{"backend/api/Standard.start"}, Tail: number(3)}, "25 27 28"},
		"two":             {rest.LogQuery{Of: []string{"gui/start", "api", "frontend"}, Tail: number(3)}, "27 28 29"},
		"none of its own": {rest.LogQuery{Of: []string{"api/push_default"}}, ""},
		"a stream":        {rest.LogQuery{Stream: wire.Stderr, Tail: number(2)}, "25 28"},
		"a replica":       {rest.LogQuery{Replica: "b2", Tail: number(2)}, "25 28"},
		"an address":      {rest.LogQuery{Replica: w.found["frontend"][0].String(), Tail: number(2)}, "26 29"},
		"since":           {rest.LogQuery{Since: at(26)}, "26 27 28 29"},
		"until":           {rest.LogQuery{Until: at(3)}, "0 1 2"},
		"between":         {rest.LogQuery{Since: at(10), Until: at(13), Tail: number(2)}, "11 12"},
		"text":            {rest.LogQuery{Text: "e 2", Tail: number(3)}, "27 28 29"},
		"a pattern":       {rest.LogQuery{Match: `[05]$`}, "0 5 10 15 20 25"},
		"no tail":         {rest.LogQuery{Tail: number(0)}, ""},
	} {
		if got := strings.ReplaceAll(strings.Join(w.all(c.q), " "), "line ", ""); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAQueryThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unitlogs.Options{}, nil)
	for _, c := range []struct {
		q    rest.LogQuery
		kind error
	}{
		{rest.LogQuery{Of: []string{"nowhere"}}, rest.ErrUnknownComponent},
		{rest.LogQuery{Of: []string{"backend/gui"}}, rest.ErrUnknownComponent},
		{rest.LogQuery{Of: []string{"api/begin"}}, rest.ErrUnknownOperation},
		{rest.LogQuery{Of: []string{"api/start"}}, rest.ErrAmbiguous},
		{rest.LogQuery{Of: []string{"a/b/c/d"}}, rest.ErrInvalid},
		{rest.LogQuery{Of: []string{"store"}}, rest.ErrStandalone},
		{rest.LogQuery{Stream: "stdin"}, rest.ErrInvalid},
		{rest.LogQuery{Match: "("}, rest.ErrInvalid},
		{rest.LogQuery{Match: strings.Repeat("x", 1001)}, rest.ErrInvalid},
		{rest.LogQuery{Tail: number(-1)}, rest.ErrInvalid},
		{rest.LogQuery{After: "AQ"}, rest.ErrInvalid},
		{rest.LogQuery{Follow: true, Until: time.Now()}, rest.ErrInvalid},
		{rest.LogQuery{Since: time.Now(), Until: time.Unix(1, 0)}, rest.ErrInvalid},
		{rest.LogQuery{Replica: "b9"}, rest.ErrUnknownReplica},
	} {
		if r, err := w.logs.Open(t.Context(), c.q); !errors.Is(err, c.kind) {
			t.Errorf("%+v: %v", c.q, err)
			if err == nil {
				r.Close()
			}
		}
	}
}

// next waits for the next entry, which must be of a kind.
func (w *world) next(r *logs.Reader, kind rest.LogKind) said {
	w.t.Helper()
	if len(w.held) == 0 {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		defer cancel()
		entries, err := r.Next(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range entries {
			w.held, w.kinds = append(w.held, told(w.t, e)), append(w.kinds, e.Kind)
		}
	}
	s := w.held[0]
	if w.kinds[0] != kind {
		w.t.Fatalf("a %s: %+v; want a %s", w.kinds[0], s, kind)
	}
	w.held, w.kinds = w.held[1:], w.kinds[1:]
	return s
}

func TestAFollowerIsGivenWhatComes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unitlogs.Options{MaxBytes: 40, Backups: 1}, nil)
	w.print(0, start, "old")
	w.print(2, gui, "older")
	r := w.open(rest.LogQuery{Follow: true, Tail: number(1)})
	defer r.Close()
	if s := w.next(r, rest.LogPrinted); s.Line != "older" || s.Node != "frontend" || s.Component != "gui" || s.Operation != "Standard.start" || s.Stream != "stdout" || s.Replica == "" || s.Time.IsZero() {
		t.Errorf("%+v", s)
	}
	w.next(r, rest.LogLive)
	w.print(1, fails, "new")
	if s := w.next(r, rest.LogPrinted); s.Line != "new" || s.Stream != "stderr" {
		t.Errorf("%+v", s)
	}
	if _, err := w.units[0].Files[push].Write([]byte("prompt> \xff")); err != nil { // and no end
		t.Fatal(err)
	}
	if s := w.next(r, rest.LogPrinted); s.Base64 == "" || !s.Partial {
		t.Errorf("%+v", s)
	}
	after := r.Position()
	for range 5 {
		w.print(1, fails, strings.Repeat("x", 40)) // each rotates
	}
	late := w.open(rest.LogQuery{After: after})
	defer late.Close()
	if s := w.next(late, rest.LogLost); s.Bytes != 164 || !strings.Contains(s.Why, "164 bytes were rotated away") {
		t.Errorf("%+v", s)
	}
}

func TestAUnitThatCannotBeAskedIsSaidAndMissesNothing(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	broken := true
	w := newWorld(t, unitlogs.Options{}, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.URL.Path == "/logs" && broken {
				panic(http.ErrAbortHandler)
			}
			mu.Unlock()
			defer mu.Lock()
			h.ServeHTTP(w, r)
		})
	})
	w.print(0, start, "one")
	if got := w.all(rest.LogQuery{Of: []string{"gui"}}); !slices.Equal(got, []string{"silent"}) {
		t.Errorf("%q", got)
	}
	r := w.open(rest.LogQuery{Follow: true, Replica: "b1"})
	defer r.Close()
	if s := w.next(r, rest.LogSilent); s.Node != "backend" || s.Replica == "" || !strings.Contains(s.Why, "does not answer") {
		t.Errorf("%+v", s)
	}
	w.next(r, rest.LogLive)
	mu.Lock()
	broken = false
	mu.Unlock()
	if s := w.next(r, rest.LogPrinted); s.Line != "one" {
		t.Errorf("%+v", s)
	}
}

// cutting breaks answers with logs at random.
func cutting(random *rand.Rand) func(http.Handler) http.Handler {
	var mu sync.Mutex
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/logs" {
				mu.Lock()
				w = &cut{ResponseWriter: w, left: random.IntN(8000)}
				mu.Unlock()
			}
			h.ServeHTTP(w, r)
		})
	}
}

type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cut) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		_, _ = c.ResponseWriter.Write(p[:len(p)/2])
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}

// A follower that is cut off at random, from the manager as the manager is from its
// units, while logs rotate, has each line once, and those of each log in order.
func TestAFollowerThatIsCutOffHasEachLineOnce(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(dice.Seed(), 3))
	w := newWorld(t, unitlogs.Options{MaxBytes: 400, Backups: 1000}, cutting(rand.New(rand.NewPCG(dice.Seed(), 4))))
	const lines = 600
	var writing sync.WaitGroup
	defer writing.Wait()
	writing.Go(func() {
		for i := range lines {
			log := gui
			if i%3 < 2 {
				log = []string{start, fails, push}[i/3%3]
			}
			w.print(i%3, log, fmt.Sprintf("%d %s", i, strings.Repeat("x", i%90)))
		}
	})
	got, begun := map[string][]string{}, map[string]string{}
	after, count, cuts := "", 0, 0
	for ; count < lines; cuts++ {
		r := w.open(rest.LogQuery{Follow: true, After: after})
		for want := random.IntN(lines / 10); want > 0 && count < lines; {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			entries, err := r.Next(ctx)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				s := told(t, e)
				if e.Kind == rest.LogLost {
					t.Fatalf("%+v", s)
				}
				if e.Position != "" {
					after = e.Position
				}
				if e.Kind != rest.LogPrinted {
					continue
				}
				key := w.instance(s.Replica) + " " + s.Component + ":" + s.Operation + " " + s.Stream
				begun[key] += s.Line
				if s.Partial {
					continue
				}
				got[key], begun[key] = append(got[key], begun[key]), ""
				count++
				if want--; want == 0 {
					break // in the middle of what has come
				}
			}
		}
		r.Close()
	}
	writing.Wait()
	for key, want := range w.written {
		if !slices.Equal(got[key], want) {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
	if cuts < 10 {
		t.Errorf("it was cut off %d times only", cuts)
	}
}

func (w *world) instance(replica string) string {
	for i, addr := range slices.Concat(w.found["backend"], w.found["frontend"]) {
		if addr.String() == replica {
			return w.units[i].Instance
		}
	}
	return ""
}
