package unitclient_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

var credentials = unitclient.Credentials{User: fakeunit.User, Passwords: func() []string { return []string{fakeunit.Password} }}

// patient are limits that no machine is too slow for, where a test has none.
func patient(limits unitclient.Limits) unitclient.Limits {
	limits.Connect, limits.Call = cmp.Or(limits.Connect, time.Minute), cmp.Or(limits.Call, time.Minute)
	return limits
}

func newClient(t *testing.T, addr netip.AddrPort, limits unitclient.Limits) *unitclient.Client {
	t.Helper()
	pool := unitclient.NewPool(patient(limits))
	t.Cleanup(pool.Close)
	return pool.Client(addr, credentials)
}

// serving gives a client of a handler that is no unit.
func serving(t *testing.T, limits unitclient.Limits, handler http.HandlerFunc) *unitclient.Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that a client goes away
		handler(w, r)
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return newClient(t, netip.MustParseAddrPort(srv.Listener.Addr().String()), limits)
}

func answering(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func fake(t *testing.T, u *fakeunit.Unit) *unitclient.Client {
	t.Helper()
	return newClient(t, u.Start(t, map[string]string{"api": "configured"}), unitclient.Limits{})
}

func TestAnOperationIsExecutedAndItsEndRead(t *testing.T) {
	t.Parallel()
	u := &fakeunit.Unit{Instance: "i1", Operations: map[string]map[string]fakeunit.Operation{"api": {
		"Standard.start": {From: []string{"configured"}, End: fakeunit.End{
			Outcome: wire.OutcomeFailed, ExitCode: 7, Stdout: "a < b & \x1bc\r\nü", Stderr: "no",
		}},
	}}}
	c := fake(t, u)
	req := wire.ExecuteRequest{
		ID: "x1", Component: "api", Operation: "Standard.start", By: "ann", Timeout: 1.5,
		Inputs: map[string]string{"port": "<80> & \n\"more\""}, Instance: "i1",
	}
	for range 2 { // the same id is the same execution
		x, err := c.Execute(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if x.Outcome != wire.OutcomeFailed || x.ExitCode == nil || *x.ExitCode != 7 || x.Stdout != "a < b & \x1bc\r\nü" || x.By != "ann" {
			t.Errorf("got %+v", x)
		}
		if x.Started.IsZero() || x.Ended.Before(x.Started) || len(x.Inputs) != 1 {
			t.Errorf("got %+v", x)
		}
	}
	if ran := u.Executed(); len(ran) != 1 || ran[0] != "api:Standard.start port=<80> & \n\"more\"" {
		t.Errorf("the unit executed %q", ran)
	}
	page, err := c.Journal(t.Context(), unitclient.Cursor("i1", 1), time.Second)
	if err != nil || len(page.Entries) != 2 || page.Reset || page.Entries[1].Execution.ID != "x1" {
		t.Errorf("got %+v, %v", page, err)
	}
	page, err = c.Journal(t.Context(), "i0:9", 0)
	if err != nil || !page.Reset || page.Instance != "i1" || len(page.Entries) != 3 {
		t.Errorf("got %+v, %v", page, err)
	}
}

func TestASnapshotArrivesWhole(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	u := &fakeunit.Unit{Instance: "i1", Operations: map[string]map[string]fakeunit.Operation{"api": {
		"Standard.start": {From: []string{"configured"}, Hold: hold},
	}}}
	c := fake(t, u)
	if _, err := c.Execute(t.Context(), wire.ExecuteRequest{ID: "x1", Component: "api", Operation: "Standard.start"}); err != nil {
		t.Fatal(err)
	}
	s, err := c.Components(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if s.Instance != "i1" || !s.Booted.Equal(time.Unix(1e9, 5)) || s.Labels["host"] != "h1" || len(s.Components) != 1 {
		t.Fatalf("got %+v", s)
	}
	api := s.Components[0]
	if api.State != "configured" || api.Executing != "x1" || len(api.Allowed) != 1 || len(api.Processes) != 1 {
		t.Errorf("got %+v", api)
	}
	if p := api.Processes[0]; p.Memory != 1<<33 || p.CPU != 0.25 { // more than 32 bits travel as i8
		t.Errorf("got %+v", p)
	}
	info, err := c.ProcessInfo(t.Context(), "api:Standard.start")
	if err != nil || info.State != wire.Running || info.Now != 1<<32 {
		t.Errorf("got %+v, %v", info, err)
	}
}

func TestStopsSignalsAndLogs(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	const process = "api:Standard.start"
	u := &fakeunit.Unit{
		Instance: "i1", Logs: map[string]string{process: "0123456789"}, UnitLog: "the unit's",
		Operations: map[string]map[string]fakeunit.Operation{"api": {"Standard.start": {From: []string{"configured"}, Hold: hold}}},
	}
	c := fake(t, u)
	execute := func(id string) {
		if _, err := c.Execute(t.Context(), wire.ExecuteRequest{ID: id, Component: "api", Operation: "Standard.start"}); err != nil {
			t.Fatal(err)
		}
	}
	execute("x1")
	if err := c.Signal(t.Context(), process, "HUP"); err != nil {
		t.Error(err)
	}
	if x, err := c.Cancel(t.Context(), "x1"); err != nil || x.Outcome != wire.OutcomeCancelled || x.ExitCode != nil {
		t.Errorf("got %+v, %v", x, err)
	}
	execute("x2")
	if err := c.Stop(t.Context(), process); err != nil {
		t.Error(err)
	}
	execute("x3")
	if stopped, err := c.StopAll(t.Context()); err != nil || len(stopped) != 1 || stopped[0].Status != wire.Success {
		t.Errorf("got %+v, %v", stopped, err)
	}
	if code, ok := wire.FaultCodeOf(c.Stop(t.Context(), process)); !ok || code != wire.NotRunning {
		t.Errorf("got fault %v", code)
	}
	if text, err := c.ReadLog(t.Context(), process, wire.Stderr, 2, 3); err != nil || text != "234" {
		t.Errorf("got %q, %v", text, err)
	}
	if tail, err := c.TailLog(t.Context(), process, wire.Stdout, 0, 4); err != nil || tail != (wire.LogTail{Data: "6789", Offset: 10, Overflow: true}) {
		t.Errorf("got %+v, %v", tail, err)
	}
	if err := c.ClearLogs(t.Context(), process); err != nil {
		t.Error(err)
	}
	if tail, err := c.TailLog(t.Context(), process, wire.Stdout, 0, 4); err != nil || tail != (wire.LogTail{}) {
		t.Errorf("got %+v, %v", tail, err)
	}
	if text, err := c.ReadUnitLog(t.Context(), -6, 0); err != nil || text != "unit's" {
		t.Errorf("got %q, %v", text, err)
	}
	if err := c.ClearUnitLog(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAFaultIsAFault(t *testing.T) {
	t.Parallel()
	c := fake(t, &fakeunit.Unit{Instance: "i1"})
	_, err := c.Execution(t.Context(), "x9", 0)
	var fault *wire.Fault
	if !errors.As(err, &fault) || fault.Code != wire.NoExecution || fault.Detail != "x9" {
		t.Errorf("got %v", err)
	}
	if err == nil || fault.Instance != "i1" {
		t.Errorf("got %+v", fault)
	}
}

func TestReloadGivesThreeLists(t *testing.T) {
	t.Parallel()
	c := serving(t, unitclient.Limits{}, answering(`<methodResponse><params><param><value><array><data><value><array><data>
		<value><array><data><value><string>a</string></value></data></array></value>
		<value><array><data></data></array></value><value><array><data/></array></value>
	</data></array></value></data></array></value></param></params></methodResponse>`))
	added, changed, removed, err := c.Reload(t.Context())
	if err != nil || len(added) != 1 || added[0] != "a" || len(changed) != 0 || len(removed) != 0 {
		t.Errorf("got %v %v %v, %v", added, changed, removed, err)
	}
}

func TestNonsenseIsABadAnswer(t *testing.T) {
	t.Parallel()
	value := func(s string) string {
		return "<?xml version=\"1.0\"?><methodResponse><params><param><value>" + s + "</value></param></params></methodResponse>"
	}
	for name, body := range map[string]string{
		"nothing":                  "",
		"no XML and no JSON":       "It works!",
		"a web page":               "<html><body><value>1</value></body></html>",
		"XML that is cut off":      value("<struct><member>")[:80],
		"no value":                 "<methodResponse></methodResponse>",
		"another type":             value("<int>5</int>"),
		"a number beyond 64 bits":  value("<struct><member><name>pid</name><value><i8>99999999999999999999</i8></value></member></struct>"),
		"a fault without a struct": "<methodResponse><fault><value><int>1</int></value></fault></methodResponse>",
		"nesting without an end":   value(strings.Repeat("<array><data><value>", 5000) + strings.Repeat("</value></data></array>", 5000)),
		"more than it may be":      value("<string>" + strings.Repeat("x", 200_000) + "</string>"),
		"JSON that is cut off":     `{"instance":"i","components":[{"na`,
		"two values":               `{"instance":"i","id":"x","outcome":"lost"}{}`,
		"a value of nobody":        `{}`,
		"another type in JSON":     `{"instance":5,"id":5}`,
		"a time that is none":      `{"instance":"i","booted":"noon","id":"x","outcome":"lost","started":"noon"}`,
		"a number beyond its type": `{"instance":"i","seq":99999999999999999999,"id":"x","outcome":"lost"}`,
		"an outcome that is none":  `{"id":"x","outcome":"splendid"}`,
		"JSON without an end":      strings.Repeat(`[`, 20_000),
		"more JSON than it may be": `{"instance":"` + strings.Repeat("x", 200_000) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serving(t, unitclient.Limits{Answer: 150_000}, answering(body))
			_, components := c.Components(t.Context(), true)
			_, execution := c.Execution(t.Context(), "x", 0)
			_, info := c.ProcessInfo(t.Context(), "x")
			for _, err := range []error{components, execution, info} {
				if !errors.Is(err, unitclient.ErrBadAnswer) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

func TestARefusalArrivesWithWhatExplainsIt(t *testing.T) {
	t.Parallel()
	c := serving(t, unitclient.Limits{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", wire.ProblemType)
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"status":409,"code":"NEWER_ENTRY","detail":"a sentence","unit_instance":"i1",
			"component":{"name":"api","state":"started","allowed":["Standard.stop"],"seq":7},"more":"than is known"}`)
	})
	_, err := c.Execute(t.Context(), wire.ExecuteRequest{Component: "api", Operation: "start"})
	var fault *wire.Fault
	if !errors.As(err, &fault) || fault.Code != wire.NewerEntry || fault.Detail != "a sentence" || fault.Instance != "i1" {
		t.Fatalf("got %v", err)
	}
	if now := fault.Component; now.State != "started" || len(now.Allowed) != 1 || now.Seq != 7 {
		t.Errorf("got %+v", now)
	}
}

func TestAnAnswerOfAnotherStatusIsNotAValue(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status     int
		kind, body string
		want       error
	}{
		"a unit that is going away":  {http.StatusServiceUnavailable, wire.ProblemType, `{"code":"SERVICE_UNAVAILABLE"}`, unitclient.ErrUnreachable},
		"a mistake of the manager's": {http.StatusBadRequest, wire.ProblemType, `{"code":"BAD_REQUEST"}`, unitclient.ErrBadAnswer},
		"a proxy that has no unit":   {http.StatusServiceUnavailable, "text/html", `<html>`, unitclient.ErrBadAnswer},
		"a problem that is none":     {http.StatusNotFound, wire.ProblemType, `<html>`, unitclient.ErrBadAnswer},
		"an older unit":              {http.StatusNotFound, "text/plain", "nothing is at this path", unitclient.ErrBadAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serving(t, unitclient.Limits{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.kind)
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			if _, err := c.Identity(t.Context()); !errors.Is(err, tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAJournalThatMakesNoSense(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		instance, body string
		want           error
		entries        int
	}{
		"no instance":                    {"", "", unitclient.ErrBadAnswer, 0},
		"a web page":                     {"i", "<html>", unitclient.ErrBadAnswer, 0},
		"an entry of nobody":             {"i", `{"seq":1}`, unitclient.ErrBadAnswer, 0},
		"cut off in the first entry":     {"i", `{"seq":1,"inst`, unitclient.ErrUnreachable, 0},
		"cut off in the second":          {"i", "{\"seq\":1,\"instance\":\"i\",\"kind\":\"boot\"}\n{\"seq\":2,", nil, 1},
		"nothing new":                    {"i", "", nil, 0},
		"another type where a number is": {"i", `{"seq":"one","instance":"i"}`, unitclient.ErrBadAnswer, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := serving(t, unitclient.Limits{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Toskose-Instance", c.instance)
				_, _ = io.WriteString(w, c.body)
			})
			page, err := client.Journal(t.Context(), "", 0)
			if !errors.Is(err, c.want) || len(page.Entries) != c.entries {
				t.Errorf("got %+v, %v", page, err)
			}
		})
	}
}

func TestCredentialsGoToNobodyElse(t *testing.T) {
	t.Parallel()
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(stranger.Close)
	c := serving(t, unitclient.Limits{}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, stranger.URL, http.StatusTemporaryRedirect)
	})
	if _, err := c.Components(t.Context(), true); !errors.Is(err, unitclient.ErrBadAnswer) {
		t.Errorf("got %v", err)
	}
}

func TestAWrongPasswordIsNoNonsense(t *testing.T) {
	t.Parallel()
	u := &fakeunit.Unit{Instance: "i1"}
	pool := unitclient.NewPool(patient(unitclient.Limits{}))
	t.Cleanup(pool.Close)
	_, err := pool.Client(u.Start(t, nil), unitclient.Credentials{User: "admin", Passwords: func() []string { return []string{"guess"} }}).Components(t.Context(), true)
	if !errors.Is(err, unitclient.ErrUnauthorized) {
		t.Errorf("got %v", err)
	}
}

func TestASilentUnitIsUnreachable(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"it never begins to answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"it never ends to": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "<methodResponse>")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"it hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			c := serving(t, unitclient.Limits{Call: 50 * time.Millisecond}, handler)
			if _, err := c.Components(t.Context(), true); !errors.Is(err, unitclient.ErrUnreachable) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("the caller does not wait", func(t *testing.T) {
		c := serving(t, unitclient.Limits{}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := c.Components(ctx, true); !errors.Is(err, unitclient.ErrUnreachable) {
			t.Errorf("got %v", err)
		}
	})
}

// FuzzAnswer asserts an error or a value, whatever a unit says.
func FuzzAnswer(f *testing.F) {
	f.Add(`<methodResponse><params><param><value><struct><member><name>instance</name><value>i</value></member></struct></value></param></params></methodResponse>`)
	f.Add(`<methodResponse><fault><value><struct><member><name>faultCode</name><value><int>10</int></value></member></struct></value></fault></methodResponse>`)
	f.Add(`<methodResponse><value/><value><array><data><value><string></string></value></data></array></value></methodResponse>`)
	f.Fuzz(func(_ *testing.T, body string) {
		unitclient.DecodeForTest([]byte(body))
	})
}
