package manager_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/users"
)

// pid returns the process of the program app of the attached node web.
func (l *learning) pid() int {
	l.t.Helper()
	op, err := l.Current().Operation(l.t.Context(), "web", "web/app", "start", manager.WithProcesses)
	if err != nil || op.Replicas[0].Process == nil {
		l.t.Fatalf("the process of web/app: %+v, %v", op, err)
	}
	return op.Replicas[0].Process.PID
}

// attachedWeb is an attached node with one program.
func attachedWeb(t *testing.T) *learning {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs the unit")
	}
	u := testunit.RunJoined(t, fakeunit.Password, "[program:app]\ncommand=sleep 1000\nstartsecs=0\n")
	l := learn(t, attachedApp(nil, "web"), fakeunit.Containers{"web": {u.Addr}})
	l.become(map[string]string{"web/app": "running"})
	return l
}

func TestAViewerCannotChangeAttachedPrograms(t *testing.T) {
	t.Parallel()
	l := attachedWeb(t)
	var list users.List
	for name, role := range map[string]users.Role{"ann": users.Viewer, "olga": users.Operator} {
		if err := list.Add(name, role, "password of "+name); err != nil {
			t.Fatal(err)
		}
	}
	gate, err := access.New(access.Options{First: "admin", Password: access.Always("secret"), Users: list.Encode})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := api.New(l.Current(), api.Options{Access: gate, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	request := func(user, method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/api/v1"+path, strings.NewReader(body))
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{Subject: pkix.Name{CommonName: user}}}}}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	const restart = "/node/web/app/restart"
	before := l.pid()
	for _, change := range []struct{ method, path, body string }{
		{"POST", restart, ""},
		{"POST", "/node/web/app/stop", ""},
		{"POST", "/node/web/app/Program.restart", ""},
		{"DELETE", "/node/web/app/start", ""},
		{"PUT", "/app/goal", `{"state": "up"}`},
		{"PUT", "/drains/web", `{"seconds": 30}`},
	} {
		if w := request("ann", change.method, change.path, change.body); w.Code != http.StatusForbidden {
			t.Errorf("%s %s by a viewer: status %d\n%s", change.method, change.path, w.Code, w.Body)
		}
	}
	if w := request("ann", "GET", "/node/web/app", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"running"`) {
		t.Errorf("a viewer does not see the program: status %d\n%s", w.Code, w.Body)
	}
	if now := l.pid(); now != before {
		t.Errorf("a viewer has restarted the program: its process was %d, and is %d", before, now)
	}
	if w := request("olga", "POST", restart, ""); w.Code >= http.StatusBadRequest {
		t.Errorf("an operator cannot restart the program: status %d\n%s", w.Code, w.Body)
	}
	l.await(func(all map[string]rest.Component) bool {
		return all["web/app"].State == "running" && l.pid() != before
	})
}

// TestADrainedAttachedNodeRunsNothing until the drain ends.
func TestADrainedAttachedNodeRunsNothing(t *testing.T) {
	t.Parallel()
	l := attachedWeb(t)
	app := l.Current()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		now, err := app.Drain(t.Context(), "web", time.Hour)
		if err == nil && now.Empty && len(now.Instances) == 1 { // the program itself is not an operation that runs
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the drain is %+v, %v", now, err)
		}
	}
	before := l.pid()
	l.up()
	restarted := make(chan error, 1)
	go func() {
		_, err := l.run("web", "web/app", "restart")
		restarted <- err
	}()
	select {
	case err := <-restarted:
		t.Fatalf("the restart did not wait for the end of the drain: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if now := l.pid(); now != before {
		t.Errorf("on a drained node the program was restarted: its process was %d, and is %d", before, now)
	}
	if err := app.EndDrain("web"); err != nil {
		t.Fatal(err)
	}
	if err := <-restarted; err != nil {
		t.Errorf("after the drain: %v", err)
	}
	if now := l.pid(); now == before {
		t.Error("after the drain the program was not restarted")
	}
	if _, err := app.Drain(t.Context(), "db", time.Hour); !errors.Is(err, rest.ErrUnknownNode) {
		t.Errorf("a drain of an unknown node: %v", err)
	}
}
