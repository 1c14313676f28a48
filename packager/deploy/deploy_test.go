package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

func TestMain(m *testing.M) {
	leak.Main(m, http.DefaultClient.CloseIdleConnections)
}

// fakeBackend is an application that has failed in some way.
type fakeBackend struct {
	at     string // where its manager is: HOST:PORT
	failed []backend.Failure
	log    string
	downs  int

	renewed map[string]bool // by Apply

	secrets                        func() (backend.Suffixes, error)
	removeVolumes, removeDocuments func(context.Context) error
}

func (f *fakeBackend) Name() string                         { return "in a test" }
func (f *fakeBackend) Host(context.Context) (string, error) { return f.at, nil }
func (f *fakeBackend) Forward() string                      { return "" }
func (f *fakeBackend) Close()                               {}
func (f *fakeBackend) Lock(bool) lock.Store                 { return nil }

func (f *fakeBackend) Check(context.Context) error { return nil }

func (f *fakeBackend) Apply(context.Context, release.Log) (map[string]bool, error) {
	return f.renewed, nil
}
func (f *fakeBackend) CleanUp(context.Context) error             { return nil }
func (f *fakeBackend) Record(context.Context, release.Log) error { return nil }

func (f *fakeBackend) Existing(context.Context) (backend.Existing, error) {
	return backend.Existing{}, nil
}
func (f *fakeBackend) Releases(context.Context) (map[string]release.Log, error) { return nil, nil }
func (f *fakeBackend) Failures(context.Context) ([]backend.Failure, error)      { return f.failed, nil }
func (f *fakeBackend) Logs(context.Context, backend.Failure) (string, error)    { return f.log, nil }

func (f *fakeBackend) Secrets(context.Context) (backend.Suffixes, error) { return f.secrets() }
func (f *fakeBackend) PublishSecrets(context.Context) error              { return nil }

func (f *fakeBackend) Down(context.Context, release.Log) error {
	f.downs++
	return nil
}

func (f *fakeBackend) RemoteResources(context.Context, backend.Removal) ([]string, error) {
	return nil, nil
}

func (f *fakeBackend) RemoveVolumes(ctx context.Context) error {
	if f.removeVolumes == nil {
		return nil
	}
	return f.removeVolumes(ctx)
}

func (f *fakeBackend) RemoveDocuments(ctx context.Context) error {
	if f.removeDocuments == nil {
		return nil
	}
	return f.removeDocuments(ctx)
}

// managed is a deployer whose manager answers by a function.
func managed(t *testing.T, r *fakeBackend, answer http.HandlerFunc) (*deployer, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	r.at = u.Host
	d := &deployer{
		Application: &backend.Application{
			Info:     output.Info{App: "shop", Nodes: []string{"backend", "frontend"}, Manager: output.Manager{Port: port}},
			Progress: &said,
		},
		opts: Options{Timeout: time.Minute},
	}
	d.use(r)
	return d, &said
}

// failedAfter fails a deployment of an application that existed before.
func (d *deployer) failedAfter(ctx context.Context, err error, existing backend.Existing) error {
	d.existing = existing
	return d.failed(ctx, err)
}

func nodes(states ...string) []node {
	out := []node{{Name: "backend", State: states[0]}, {Name: "store", State: "stopped"}}
	if len(states) > 1 {
		out = append(out, node{Name: "frontend", State: states[1], Why: "no address"})
	}
	return out
}

func reply(t *testing.T, w http.ResponseWriter, v any) {
	t.Helper()
	if err := json.NewEncoder(w).Encode(v); err != nil {
		t.Error(err)
	}
}

func TestWaitingEndsWhenAllUnitsAnswer(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	d, said := managed(t, &fakeBackend{}, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "admin" || password != "pw" || r.URL.Path != "/api/v1/node/" {
			t.Errorf("asked %s as %s:%s", r.URL, user, password)
		}
		switch asked.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			reply(t, w, nodes("running", "unreachable"))
		default:
			reply(t, w, nodes("running", "running"))
		}
	})
	address, err := d.wait(t.Context(), "admin", "pw")
	if want := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(d.Info.Manager.Port)); err != nil || address != want {
		t.Errorf("%q, %v", address, err)
	}
	if diff := cmp.Diff("backend: answers\nfrontend: answers\n", said.String()); diff != "" {
		t.Error(diff)
	}
}

// waitInVain returns what waiting ends with when the time is up, without how long
// that was: it waits for longer where the manager has not answered by then.
func waitInVain(t *testing.T, d *deployer) string {
	t.Helper()
	for d.opts.Timeout = time.Second; ; d.opts.Timeout *= 2 {
		_, err := d.wait(t.Context(), "admin", "pw")
		if err == nil {
			t.Fatal("it does not wait in vain")
		}
		said, found := strings.CutPrefix(err.Error(), fmt.Sprintf("not everything answers after %s: ", d.opts.Timeout))
		if !found {
			t.Fatalf("the time was up, and it says: %v", err)
		}
		if !strings.HasPrefix(said, "the manager does not answer") || d.opts.Timeout > time.Minute {
			return said
		}
	}
}

func TestAStandaloneContainerThatDoesNotStayUpIsNoticed(t *testing.T) {
	t.Parallel()
	r := &fakeBackend{failed: []backend.Failure{{Service: "store", Why: "restarting with code 1", Times: 1}}}
	d, _ := managed(t, r, func(w http.ResponseWriter, _ *http.Request) { reply(t, w, nodes("running", "running")) })
	if said, want := waitInVain(t, d), "store: restarting with code 1"; said != want {
		t.Errorf("it says %s, want %s", said, want)
	}
}

func TestTimeUpNamesWhatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	d, _ := managed(t, &fakeBackend{}, func(w http.ResponseWriter, _ *http.Request) { reply(t, w, nodes("running", "unreachable")) })
	if said, want := waitInVain(t, d), "frontend is unreachable: no address"; said != want {
		t.Errorf("it says %s, want %s", said, want)
	}
}

func TestAManagerWithAnotherPasswordIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	d, _ := managed(t, &fakeBackend{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	if _, err := d.wait(t.Context(), "admin", "pw"); !errors.Is(err, errDenied) {
		t.Errorf("error %v", err)
	}
}

func TestTheManagerOfTheVersionBeforeMayAnswerForAWhile(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	d, _ := managed(t, &fakeBackend{}, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusUnauthorized) // it knows the password before only
			return
		}
		reply(t, w, nodes("running", "running"))
	})
	d.replaces = true
	if _, err := d.wait(t.Context(), "admin", "pw"); err != nil {
		t.Error(err)
	}
}

func TestWhatFailsAgainAndAgainIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	r := &fakeBackend{failed: []backend.Failure{{Service: "store", Why: "exited with code 1", Times: backend.Hopeless}}, log: "first\ncannot bind\n"}
	d, said := managed(t, r, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	_, err := d.wait(t.Context(), "admin", "pw")
	if err == nil || err.Error() != "store has failed 3 times" {
		t.Fatalf("error %v", err)
	}
	err = d.failedAfter(t.Context(), err, backend.Existing{Data: true})
	want := "cannot deploy \"shop\": store has failed 3 times\n  store: exited with code 1\n    first\n    cannot bind"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	if r.downs != 1 || !strings.Contains(said.String(), "removing what was started") {
		t.Errorf("taken down %d times: %s", r.downs, said)
	}
}

func TestWhatWasThereBeforeOrIsToBeKeptStays(t *testing.T) {
	t.Parallel()
	r := &fakeBackend{}
	d, _ := managed(t, r, nil)
	cause := errors.New("x")
	if err := d.failedAfter(t.Context(), cause, backend.Existing{Running: true}); !errors.Is(err, cause) || r.downs != 0 {
		t.Errorf("%v; taken down %d times", err, r.downs)
	}
	d.opts.Keep = true
	if err := d.failedAfter(t.Context(), cause, backend.Existing{}); !errors.Is(err, cause) || r.downs != 0 {
		t.Errorf("%v; taken down %d times", err, r.downs)
	}
}

func TestCleaningUpIsNotInterrupted(t *testing.T) {
	t.Parallel()
	r := &fakeBackend{}
	d, _ := managed(t, r, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.failedAfter(ctx, ctx.Err(), backend.Existing{Data: true}); !errors.Is(err, context.Canceled) || r.downs != 1 {
		t.Errorf("%v; taken down %d times", err, r.downs)
	}
}
