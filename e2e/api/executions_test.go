package api_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

const (
	push     = "/api/v1/node/backend/api/push_default"
	startGUI = "/api/v1/node/frontend/gui/start"
)

// executed is how often each unit of backend ran something.
func (l *live) executed() (all []int) {
	for _, u := range l.backends {
		all = append(all, len(u.Executed()))
	}
	return all
}

func execution(t *testing.T, w *httptest.ResponseRecorder) (x rest.Execution) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &x); err != nil || w.Code != 200 && w.Code != 202 {
		t.Fatalf("got %d, %v\n%s", w.Code, err, w.Body)
	}
	return x
}

func TestAnIDIsOneExecution(t *testing.T) {
	t.Parallel()
	l := enliven(t, nil, fakeunit.End{Outcome: wire.OutcomeFailed, ExitCode: 3, Stderr: "no port"})
	const body = `{"id": "mine.1", "inputs": {"port": 80}}`
	first := l.ask("POST", op, body)
	if first.Code != 502 || !strings.Contains(first.Body.String(), `"execution": "mine.1"`) {
		t.Fatalf("got %d: %s", first.Code, first.Body)
	}
	for _, when := range []string{"while it is remembered", "by another manager"} {
		if w := l.ask("POST", op, body); w.Code != 502 || !strings.Contains(w.Body.String(), "no port") {
			t.Errorf("%s: %d %s", when, w.Code, w.Body)
		}
		for _, other := range [][2]string{
			{push, `{"id": "mine.1"}`},
			{op, `{"id": "mine.1"}`},
			{op, `{"id": "mine.1", "inputs": {"port": 80}, "timeout": 3}`},
			{startGUI + "?force=true", `{"id": "mine.1"}`},
		} {
			if w := l.ask("POST", other[0], other[1]); w.Code != 422 && when == "while it is remembered" {
				t.Errorf("%s: %v: %d %s", when, other, w.Code, w.Body)
			}
		}
		if got := l.executed(); !slices.Equal(got, []int{1, 1}) {
			t.Errorf("%s: the units executed %d", when, got)
		}
		l.manage()
	}
	if w := l.ask("POST", push, `{"id": "mine.1"}`); w.Code != 422 || !strings.Contains(w.Body.String(), "id-reused") {
		t.Errorf("another operation, another manager: %d %s", w.Code, w.Body)
	}
	for _, id := range []string{"goal-1-x-2", "key-x", "a/b", "..", ".", "a b", strings.Repeat("x", 65)} {
		if w := l.ask("POST", push, fmt.Sprintf(`{"id": %q}`, id)); w.Code != 422 {
			t.Errorf("%q: %d %s", id, w.Code, w.Body)
		}
	}
}

func TestAKeyIsOneExecution(t *testing.T) {
	t.Parallel()
	l := enliven(t, nil, fakeunit.End{Target: "started"})
	const key = `Idempotency-Key: "9f86d081"`
	body := `{"inputs": {"port": 80}}`
	first := execution(t, l.ask("POST", op, body, key))
	if w := l.ask("POST", op, body, "Idempotency-Key: 9f86d081"); w.Header().Get("Idempotent-Replayed") != "true" || execution(t, w).ID != first.ID {
		t.Errorf("again: %v %s", w.Header(), w.Body)
	}
	for range 2 {
		if w := l.ask("POST", op, `{"inputs": {"port": 81}}`, key); w.Code != 422 || !strings.Contains(w.Body.String(), "id-reused") {
			t.Errorf("with another value: %d %s", w.Code, w.Body)
		}
		if w := l.ask("POST", push, "", key); w.Code != 422 {
			t.Errorf("another operation: %d %s", w.Code, w.Body)
		}
		l.manage()
		again := execution(t, l.ask("POST", op, body, key))
		if again.ID != first.ID || again.Outcome != wire.OutcomeSucceeded || len(again.Runs) != 2 {
			t.Errorf("by another manager: %+v", again)
		}
		l.manage()
	}
	if got := l.executed(); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("the units executed %d", got)
	}
	for _, bad := range []string{"Idempotency-Key: ", "Idempotency-Key: ä", `Idempotency-Key: ""`, "Idempotency-Key: " + strings.Repeat("x", 256)} {
		if w := l.ask("POST", op, "", bad); w.Code != 422 {
			t.Errorf("%.30s: %d", bad, w.Code)
		}
	}
	if w := l.ask("POST", op, `{"id": "x"}`, "Idempotency-Key: other"); w.Code != 422 {
		t.Errorf("with an id, too: %d", w.Code)
	}
}

func TestAKeyOfWhatBeganNowhereMayBeUsedAgain(t *testing.T) {
	t.Parallel()
	l := enliven(t, nil, fakeunit.End{Target: "started"})
	for _, c := range []struct {
		path  string
		allow func()
	}{
		{startGUI, func() { execution(t, l.ask("POST", op, "")) }}, // the manager says that it lacks the api
		{"/api/v1/node/backend/api/configure", func() { // the units say that its state does not allow it
			for i, u := range l.backends {
				u.Replace(fmt.Sprintf("n%d", i), map[string]string{"api": "created"})
			}
		}},
	} {
		key := "Idempotency-Key: k-" + c.path
		for range 2 {
			if w := l.ask("POST", c.path, "", key); w.Code != 409 {
				t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
			}
		}
		c.allow()
		if x := execution(t, l.ask("POST", c.path, "", key)); x.Outcome != wire.OutcomeSucceeded {
			t.Errorf("%s: %+v", c.path, x)
		}
	}
}

func TestOtherPostsHaveKeysToo(t *testing.T) {
	t.Parallel()
	l := enliven(t, make(chan struct{}), fakeunit.End{Target: "started"})
	execution(t, l.ask("POST", op, "", "Prefer: respond-async")) // which runs
	const hup = op + "/signal?signal_type=HUP"
	first := l.ask("POST", hup, "", "Idempotency-Key: s1")
	again := l.ask("POST", hup, "", "Idempotency-Key: s1")
	if first.Code != 200 || again.Code != 200 || first.Body.String() != again.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("got %d, then %d: %s", first.Code, again.Code, again.Body)
	}
	if w := l.ask("POST", op+"/signal?signal_type=TERM", "", "Idempotency-Key: s1"); w.Code != 422 {
		t.Errorf("another signal: %d", w.Code)
	}
	if w := l.ask("POST", hup, "", "Idempotency-Key: s2"); w.Code != 200 || w.Header().Get("Idempotent-Replayed") != "" {
		t.Errorf("another key: %d", w.Code)
	}
	if sent := l.backends[0].Signals(); len(sent) != 2 {
		t.Errorf("sent were %v", sent)
	}
}

func TestRequestsWithAKeyThatComeTogetherAreOne(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	l := enliven(t, hold, fakeunit.End{Target: "started"})
	ids := make(chan string)
	for range 8 {
		go func() {
			var x rest.Execution
			_ = json.Unmarshal(l.ask("POST", op, "", "Idempotency-Key: k").Body.Bytes(), &x)
			ids <- x.ID
		}()
	}
	close(hold)
	first := <-ids
	for range 7 {
		if id := <-ids; id != first || id == "" {
			t.Errorf("%q and %q", first, id)
		}
	}
	if got := l.executed(); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("the units executed %d", got)
	}
}

func TestDeleteCancelsAnExecution(t *testing.T) {
	t.Parallel()
	l := enliven(t, make(chan struct{}), fakeunit.End{Target: "started"})
	for _, other := range []bool{false, true} {
		x := execution(t, l.ask("POST", op, "", "Prefer: respond-async"))
		if other {
			l.manage()
		}
		path := "/api/v1/executions/" + x.ID
		cancelled := execution(t, l.ask("DELETE", path, ""))
		if cancelled.Outcome != wire.OutcomeCancelled || len(cancelled.Runs) != 2 || cancelled.Runs[0].Outcome != wire.OutcomeCancelled || cancelled.Runs[1].Outcome != wire.OutcomeCancelled {
			t.Errorf("by another manager %v: %+v", other, cancelled)
		}
		if w := l.ask("DELETE", path, ""); w.Code != 409 || !strings.Contains(w.Body.String(), "not-running") {
			t.Errorf("again: %d %s", w.Code, w.Body)
		}
	}
	if w := l.ask("DELETE", "/api/v1/executions/nobody's", ""); w.Code != 404 {
		t.Errorf("an unknown one: %d %s", w.Code, w.Body)
	}
}

func TestTheEndOfAnExecutionIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, other := range []bool{false, true} {
		hold := make(chan struct{})
		l := enliven(t, hold, fakeunit.End{Target: "started", Stdout: "up"})
		path := "/api/v1/executions/" + execution(t, l.ask("POST", op, "", "Prefer: respond-async")).ID
		if other {
			l.manage()
		}
		if x := read[rest.Execution](l, path); x.Outcome != wire.OutcomeRunning {
			t.Errorf("without waiting: %+v", x)
		}
		ended := make(chan string)
		go func() { ended <- l.ask("GET", path+"?wait=60", "").Body.String() }()
		close(hold)
		if text := <-ended; !strings.Contains(text, `"outcome": "succeeded"`) || !strings.Contains(text, `"stdout": "up"`) {
			t.Errorf("by another manager %v: %s", other, text)
		}
	}
}

// ids are those of a page, with how many runs each has.
func ids(page rest.History) (all []string) {
	for _, x := range page.Executions {
		all = append(all, fmt.Sprintf("%s/%d", x.ID, len(x.Runs)))
	}
	return all
}

func TestTheHistoryIsThatOfTheJournals(t *testing.T) {
	t.Parallel()
	l := enliven(t, nil, fakeunit.End{Target: "started", Stdout: "listening"})
	const path = "/api/v1/executions"
	if page := read[rest.History](l, path); len(page.Executions) != 0 {
		t.Errorf("at the beginning: %+v", page)
	}
	var want []string // latest first
	for i := range 20 {
		want = append([]string{fmt.Sprintf("p%d/2", i)}, want...)
		execution(t, l.ask("POST", push, fmt.Sprintf(`{"id": "p%d"}`, i)))
	}
	execution(t, l.ask("POST", op+"?replica=b2", `{"id": "s", "inputs": {"port": 1}}`))
	execution(t, l.ask("POST", startGUI+"?force=true", `{"id": "g"}`))
	want = append([]string{"g/1", "s/1"}, want...)
	for range 2 {
		for _, limit := range []int{1, 7, 22, 200} {
			var all []string
			for next := fmt.Sprintf("%s?limit=%d", path, limit); next != ""; {
				w := l.ask("GET", next, "")
				var page rest.History
				if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
					t.Fatalf("%v: %s", err, w.Body)
				}
				all = append(all, ids(page)...)
				next, _ = strings.CutSuffix(strings.TrimPrefix(w.Header().Get("Link"), "<"), `>; rel="next"`)
			}
			if !slices.Equal(all, want) {
				t.Errorf("in pages of %d: %v, want %v", limit, all, want)
			}
		}
		for query, want := range map[string]string{
			"operation=start":                       "g/1 s/1",
			"operation=Standard.start&node=backend": "s/1",
			"component=gui":                         "g/1",
			"node=backend&component=api&limit=2":    "s/1 p19/2",
			"by=admin&limit=1":                      "g/1",
			"by=goal":                               "",
			"outcome=failed":                        "",
			"outcome=succeeded&node=frontend":       "g/1",
			"node=store":                            "",
			"index=0":                               "",
			"operation=push_default&limit=1":        "p19/2",
		} {
			if got := strings.Join(ids(read[rest.History](l, path+"?"+query)), " "); got != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
		x := read[rest.History](l, path+"?component=api&limit=1").Executions[0]
		if r := x.Runs[0]; x.By != "admin" || r.Replica != l.found["backend"][1].String() || r.Stdout != "listening" || r.Outcome != wire.OutcomeSucceeded || r.Ended.IsZero() || x.Inputs[0] != "PORT" {
			t.Errorf("it has %+v", x)
		}
		if x = read[rest.History](l, path+"?component=api&limit=1&output=false").Executions[0]; x.Runs[0].Stdout != "" {
			t.Errorf("with output it is %+v", x)
		}
		l.manage()
	}
	for query, status := range map[string]int{"node=nowhere": 404, "node=backend&component=x": 404, "after=x": 422, "after=.x": 422, "output=all": 422, "index=x": 422, "index=-1": 422, "limit=0": 422} {
		if w := l.ask("GET", path+"?"+query, ""); w.Code != status {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
