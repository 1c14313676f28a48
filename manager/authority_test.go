package manager_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// twoContainers is an application with the component api in the container backend and gui in
// frontend, and no requirement between them.
func twoContainers() *spec.Application {
	app := &spec.Application{Name: "two"}
	for component, node := range map[string]string{"api": "backend", "gui": "frontend"} {
		app.Nodes = append(app.Nodes, spec.Node{Name: node, Type: "tosker.nodes.Container", Protocol: protocol.Container().Hosting(), Unit: &spec.Unit{Port: 9001, User: "admin"}})
		app.Components = append(app.Components, spec.Component{
			Name: component, Host: node, Node: node, Protocol: testunit.Lifecycle(),
			Interfaces: []spec.Interface{{Name: "Standard", Operations: []spec.Operation{{Name: "configure", Script: "c.sh"}, {Name: "start", Script: "s.sh"}, {Name: "stop"}}}},
		})
	}
	return app
}

// attacker knows a password of one unit.
type attacker struct {
	t        *testing.T
	password string
	answered int // requests that were not refused for want of a password
}

func (a *attacker) send(at netip.AddrPort, method, path, body string, header ...string) (int, string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+at.String()+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.SetBasicAuth("admin", a.password)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error() // it waits for what never comes, or the unit has ended
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if answer.StatusCode != http.StatusUnauthorized {
		a.answered++
	}
	return answer.StatusCode, string(text)
}

// rpc calls a method of Supervisor's API.
func (a *attacker) rpc(at netip.AddrPort, method string, params ...string) string {
	var body strings.Builder
	fmt.Fprintf(&body, "<methodCall><methodName>%s</methodName><params>", method)
	for _, p := range params {
		fmt.Fprintf(&body, "<param><value>%s</value></param>", p)
	}
	body.WriteString("</params></methodCall>")
	_, text := a.send(at, http.MethodPost, "/RPC2", body.String(), "Content-Type", "text/xml")
	return text
}

var named = regexp.MustCompile(`<string>([a-zA-Z]+\.[a-zA-Z]+)</string>`)

// everyMethod calls each method of Supervisor's API with whatever it may take, those that end
// the unit last.
func (a *attacker) everyMethod(at netip.AddrPort) {
	text := func(s string) string { return "<string>" + s + "</string>" }
	const zero, long, yes = "<int>0</int>", "<int>1000</int>", "<boolean>1</boolean>"
	var last []string
	for _, found := range named.FindAllStringSubmatch(a.rpc(at, "system.listMethods"), -1) {
		method := found[1]
		if strings.HasSuffix(method, ".shutdown") || strings.HasSuffix(method, ".restart") {
			last = append(last, method)
			continue
		}
		a.rpc(at, method)
		a.rpc(at, method, zero, long)
		for _, name := range []string{"api:start", "api", "gui:start"} {
			for _, more := range [][]string{nil, {text("KILL")}, {yes}, {zero, long}} {
				a.rpc(at, method, append([]string{text(name)}, more...)...)
			}
		}
	}
	if slices.Sort(last); !slices.Equal(last, []string{"supervisor.restart", "supervisor.shutdown"}) {
		a.t.Errorf("the unit is ended by %q", last)
	}
	before := a.booted(at)
	a.rpc(at, "supervisor.restart")
	a.await("the unit restarts", func() bool { now := a.booted(at); return now != "" && now != before })
	a.rpc(at, "supervisor.shutdown")
	a.await("the unit ends", func() bool { return a.booted(at) == "" })
}

// booted returns when a unit has started; empty if it does not answer.
func (a *attacker) booted(at netip.AddrPort) string {
	var identity struct{ Booted string }
	_, text := a.send(at, http.MethodGet, "/instance", "")
	_ = json.Unmarshal([]byte(text), &identity) // otherwise it says nothing
	return identity.Booted
}

func (a *attacker) await(what string, is func() bool) {
	a.t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			a.t.Fatalf("it does not happen that %s", what)
		}
	}
}

// endpoint sends to one endpoint what could do harm elsewhere.
func (a *attacker) endpoint(at netip.AddrPort, method, path string) {
	switch path {
	case "/RPC2":
		return // everyMethod does
	case "/documents/":
		for _, name := range []string{wire.GoalDocument, wire.TargetsDocument, "other", "../journal"} {
			for _, revision := range []string{"18446744073709551615:zzzzzzzzzz", "1000:z"} {
				parsed, _ := wire.ParseRevision(revision)
				d, _ := json.Marshal(goal.Document{Revision: parsed, Asked: parsed, By: "admin", At: time.Now(), All: goal.Down})
				for _, body := range []string{
					string(d), strings.TrimSuffix(string(d), "}") + `,"signature":{"revision":"` + revision + `","key":"00000000","hmac":"` + strings.Repeat("0", 64) + `"}}`,
					`{"components": {"gui": "deleted", "api": "deleted"}}`,
				} {
					a.send(at, method, path+name, body, "Toskose-Revision", revision, "Toskose-Replaces", revision)
					a.send(at, method, path+name, body, "Toskose-Revision", revision)
				}
			}
		}
	case "/executions":
		for _, component := range []string{"api", "gui"} {
			for _, operation := range []string{"Standard.stop", "Standard.configure", "Standard.start"} {
				body, _ := json.Marshal(wire.ExecuteRequest{ID: "goal-1-a-0123456789abcdef", Component: component, Operation: operation, By: "goal"})
				a.send(at, method, path, string(body), "Content-Type", "application/json")
			}
		}
	default:
		for _, more := range []string{"", "api:start", "gui:start", "goal-1-a-0123456789abcdef", "?after=now&wait=0s"} {
			a.send(at, method, path+more, `{"of": [{"process": "gui:start"}], "from": "start"}`, "Content-Type", "application/json")
		}
	}
}

// TestAPasswordOfOneUnitDoesNoHarmInAnotherContainer goes through every endpoint of a unit with each
// of its passwords, while a manager keeps a goal, and while one begins anew.
func TestAPasswordOfOneUnitDoesNoHarmInAnotherContainer(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the unit")
	}
	t.Parallel()
	passwords := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(passwords, []byte("first of backend\nsecond of backend\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	backend := testunit.RunWith(t, testunit.API, "SUPERVISORD_PASSWORD_FILE="+passwords)
	frontend := testunit.Run(t, "password of frontend", func(folder string, port uint16) []byte {
		return bytes.ReplaceAll(testunit.API(folder, port), []byte("api"), []byte("gui"))
	})
	begin := func() *manager.App {
		app, err := manager.New(twoContainers(), manager.Options{
			Containers: fakeunit.Containers{"backend": {backend.Addr}, "frontend": {frontend.Addr}}, Backoff: time.Millisecond,
			SecretKey: func() ([]byte, error) { return []byte("secret\n"), nil },
			Passwords: func(node string) []string {
				return map[string][]string{"backend": {"first of backend"}, "frontend": {"password of frontend"}}[node]
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return app
	}
	app := begin()
	if _, kept, err := app.SetGoal(t.Context(), rest.GoalRequest{State: goal.Up, By: "admin"}); err != nil || !kept {
		t.Fatal(kept, err)
	}
	awaitGoal(t, app, "reached", func(g rest.Goal) bool { return g.Done && g.Reached == 2 })
	other := &attacker{t: t, password: "password of frontend"}
	_, before := other.send(frontend.Addr, http.MethodGet, "/journal", "")

	list, err := os.ReadFile(filepath.Join("..", "unit", "rpc", "testdata", "endpoints.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, password := range []string{"first of backend", "second of backend"} {
		a := &attacker{t: t, password: password}
		for line := range strings.Lines(string(list)) {
			method, path, _ := strings.Cut(strings.TrimSpace(line), " ")
			a.endpoint(backend.Addr, method, path)
			answered := a.answered
			open := path == "/healthz" || path == "/readyz" || path == "/livez"
			if a.endpoint(frontend.Addr, method, path); a.answered > answered && !open {
				t.Errorf("%s %s of another unit takes the password", method, path)
			}
		}
		a.everyMethod(backend.Addr)
		if a.answered < 100 {
			t.Errorf("only %d requests were answered", a.answered)
		}
		backend.Restart()
		app.Close()
		app = begin() // it knows only what the units store
		g := awaitGoal(t, app, "reached again", func(g rest.Goal) bool { return g.Acting && len(g.Lacking) == 0 && g.Reached >= 1 })
		if _, held := g.Holds["gui"]; held { // api may be: the attacker has stopped it
			t.Errorf("gui is on hold: %+v", g.Holds)
		}
		if g.State != goal.Up || g.By != "admin" || strings.HasPrefix(g.Revision, "18446744073709551615") {
			t.Errorf("the goal is another: %+v", g)
		}
	}
	app.Close()
	if _, after := other.send(frontend.Addr, http.MethodGet, "/journal", ""); operations(after) != operations(before) {
		t.Errorf("in the other container was executed\n%s\nbefore\n%s", operations(after), operations(before))
	}
}

// operations are the entries of a journal about executions.
func operations(journal string) string {
	var all []string
	for line := range strings.Lines(journal) {
		if strings.Contains(line, `"execution"`) && !strings.Contains(line, `"checkpoint"`) {
			all = append(all, line)
		}
	}
	return strings.Join(all, "")
}
