package rotate_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/certs"
	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/internal/testapp"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/rotate"
	"github.com/toskose/toskose/unit/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

// application is a folder and what runs with its secrets: a real manager, and two
// replicas of a component by real units.
type application struct {
	t       *testing.T
	dir     string
	tls     bool
	address string
	units   []netip.AddrPort
}

// packaged writes a folder with the secrets of an application.
func packaged(t *testing.T, secure bool) string { return packagedWith(t, secure, "backend") }

// packagedWith is packaged with other nodes.
func packagedWith(t *testing.T, secure bool, nodes ...string) string {
	t.Helper()
	dir := t.TempDir()
	plan := &packager.Plan{
		App: "shop", Version: "1", Services: []packager.Service{{IsManager: true}}, Config: config.Config{Manager: config.Manager{User: "admin"}},
		Secrets: []packager.Secret{{Name: packager.ManagerPassword}, {Name: packager.ManagerSecretKey}},
	}
	certified := map[string][]string{"toskose-manager": {"toskose-manager", packager.LocalName, "127.0.0.1"}}
	for _, node := range nodes {
		plan.Secrets = append(plan.Secrets, packager.Secret{Name: packager.UnitPassword(node)})
		certified[node] = []string{node}
	}
	if secure {
		for service, names := range certified {
			plan.Secrets = append(plan.Secrets,
				packager.Secret{Name: service + "-tls.crt", TLS: &packager.TLS{For: service, Names: names}},
				packager.Secret{Name: service + "-tls.key", TLS: &packager.TLS{For: service, Names: names, Key: true}})
		}
		plan.Secrets = append(plan.Secrets, packager.Secret{Name: packager.TLSAuthority, TLS: &packager.TLS{}})
	}
	manifests := func(_ *packager.Plan, secrets output.Secrets) ([]output.File, error) {
		return []output.File{{Name: "docker-compose.yml", Mode: 0o644, Data: []byte(output.Header + "secrets:\n  x:\n    name: shop_" + nodes[0] + "-password_" + secrets.Suffixes[packager.UnitPassword(nodes[0])] + "\n")}}, nil
	}
	if err := output.Write(dir, plan, output.Options{Random: rand.Reader, Now: time.Now(), Targets: []output.Target{manifests}}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func running(t *testing.T, secure bool) *application {
	t.Helper()
	a := &application{t: t, dir: packaged(t, secure), tls: secure}
	unitConf := func(folder string, port uint16) []byte {
		text := testunit.API(folder, port)
		if secure {
			text = bytes.Replace(text, []byte("[inet_http_server]\n"), []byte("[inet_http_server]\ntoskose_tls_cert="+a.file("backend-tls.crt")+
				"\ntoskose_tls_key="+a.file("backend-tls.key")+"\ntoskose_tls_client_ca="+a.file(packager.TLSAuthority)+"\n"), 1)
		}
		return text
	}
	for range 2 {
		a.units = append(a.units, testunit.RunWith(t, unitConf, "SUPERVISORD_USER=admin", "SUPERVISORD_PASSWORD_FILE="+a.file("backend-password")).Addr)
	}
	opts := testapp.Options{
		Units: a.units,
		Passwords: func(string) []string {
			text, _ := os.ReadFile(a.file("backend-password"))
			return wire.Passwords(text)
		},
		Access:       access.Options{First: "admin", Password: a.reading(packager.ManagerPassword), SecretKey: a.reading(packager.ManagerSecretKey)},
		Certificates: a.own,
	}
	if secure {
		opts.UnitTLS, opts.TLS = a.clientTLS(), a.serverTLS()
	}
	a.address = testapp.Serve(t, testapp.Shop(), opts).URL
	return a
}

func (a *application) file(name string) string {
	return filepath.Join(a.dir, output.SecretsDir, name)
}

func (a *application) reading(name string) func() ([]byte, error) {
	return func() ([]byte, error) { return os.ReadFile(a.file(name)) }
}

func (a *application) text(name string) string {
	a.t.Helper()
	text, err := os.ReadFile(a.file(name))
	if err != nil {
		a.t.Fatal(err)
	}
	return string(text)
}

func (a *application) files() []string {
	return []string{a.file("toskose-manager-tls.crt"), a.file("toskose-manager-tls.key"), a.file(packager.TLSAuthority)}
}

func (a *application) load() (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(a.file("toskose-manager-tls.crt"), a.file("toskose-manager-tls.key"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	text, err := os.ReadFile(a.file(packager.TLSAuthority))
	roots.AppendCertsFromPEM(text)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, RootCAs: roots}, err
}

func (a *application) clientTLS() *tls.Config {
	c, err := certs.Client(a.files(), a.load, slog.New(slog.DiscardHandler))
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

func (a *application) serverTLS() *tls.Config {
	c, err := certs.Reloading(a.files(), a.load, slog.New(slog.DiscardHandler))
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

func (a *application) own() (certificate string, authorities []string, err error) {
	if !a.tls {
		return "", nil, nil
	}
	return certs.Fingerprints([]byte(a.text("toskose-manager-tls.crt")))[0], certs.Fingerprints([]byte(a.text(packager.TLSAuthority))), nil
}

// asks returns a client that knows what the folder has now, as each command does.
func (a *application) asks(password string) *client.Client {
	opts := client.Options{
		Address: a.address, User: "admin", Password: password,
		PasswordAgain: func() (string, error) { return output.ManagerPassword(a.dir) },
	}
	if a.tls {
		opts.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: packager.LocalName, RootCAs: x509.NewCertPool()}
		opts.TLS.RootCAs.AppendCertsFromPEM([]byte(a.text(packager.TLSAuthority)))
	}
	return client.With(opts)
}

func (a *application) now() *client.Client {
	password, err := output.ManagerPassword(a.dir)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.asks(password)
}

// options are those of `toskose rotate`.
func (a *application) options() rotate.Options {
	return rotate.Options{
		Dir: a.dir, Nodes: []string{"backend"}, Timeout: time.Minute, Poll: 10 * time.Millisecond, Random: rand.Reader, Now: time.Now(),
		Say: func(line string) { a.t.Log(line) },
		Ask: func(ctx context.Context) (rotate.State, error) {
			c := a.now()
			defer c.Close()
			all, err := c.Credentials(ctx)
			state := rotate.State{Manager: rotate.Manager(all.Manager)}
			for _, u := range all.Units {
				state.Units = append(state.Units, rotate.Unit(u))
			}
			return state, err
		},
	}
}

// use runs operations and reads without a pause until it is told to stop, and counts them.
func (a *application) use(stop <-chan struct{}, count *atomic.Int32) {
	for {
		executed := count.Load()
		c := a.now()
		for _, operation := range []string{"start", "stop"} {
			x, err := c.Run(a.t.Context(), client.RunRequest{Node: "backend", Component: "api", Operation: operation}, func(client.Execution) {})
			if err != nil || x.Outcome != client.OutcomeSucceeded {
				a.t.Errorf("%s after %d operations: %s, %v", operation, executed, x.Outcome, err)
				return
			}
			count.Add(1)
			if _, err := c.App(a.t.Context()); err != nil {
				a.t.Errorf("a read after %d operations: %v", executed, err)
			}
		}
		c.Close()
		select {
		case <-stop:
			return
		default:
		}
	}
}

// TestNothingIsRefusedWhileSecretsAreReplaced replaces all of them under an application that
// is used without a pause, interrupted in each step.
func TestNothingIsRefusedWhileSecretsAreReplaced(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		tls    bool
		choose func(*rotate.Options)
		old    []string // what is right no longer
	}{
		{"passwords", false, func(o *rotate.Options) { o.Passwords = true }, []string{packager.ManagerPassword, "backend-password", packager.ManagerSecretKey}},
		{"passwords and certificates", true, func(o *rotate.Options) { o.Passwords, o.Certificates = true, true }, []string{packager.ManagerPassword, "backend-password", "backend-tls.crt", "toskose-manager-tls.key"}},
		{"the authority", true, func(o *rotate.Options) { o.Authority = true }, []string{packager.TLSAuthority, packager.TLSAuthorityFile, "backend-tls.crt", "backend-tls.key", "toskose-manager-tls.crt"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := running(t, tt.tls)
			was := map[string]string{}
			for _, name := range tt.old {
				was[name] = a.text(name)
			}
			before := a.now()
			defer before.Close()
			if _, err := before.Run(t.Context(), client.RunRequest{Node: "backend", Component: "api", Operation: "configure"}, func(client.Execution) {}); err != nil {
				t.Fatal(err)
			}
			stop := make(chan struct{})
			var using sync.WaitGroup
			var executed atomic.Int32
			using.Go(func() { a.use(stop, &executed) })
			for rounds := 0; rounds < 2 || executed.Load() < 6 && !t.Failed(); rounds++ {
				a.interrupted(tt.choose)
				// Each replacement may cost who holds a password one failed login, of which five are forgiven.
				for seen := executed.Load(); executed.Load() < seen+2 && !t.Failed(); {
					time.Sleep(time.Millisecond)
				}
			}
			close(stop)
			using.Wait()
			t.Logf("%d operations meanwhile", executed.Load())
			for name, text := range was {
				if now := a.text(name); now == text || strings.Contains(now, text) {
					t.Errorf("%s is still\n%s", name, now)
				}
			}
			if _, err := before.App(t.Context()); err != nil && !tt.tls {
				t.Errorf("who was there before has to begin again: %v", err)
			}
			a.refuses(was)
		})
	}
}

// interrupted rotates: the first call ends in the first step, the next in the second, and so on.
func (a *application) interrupted(choose func(*rotate.Options)) {
	a.t.Helper()
	broken := errors.New("broken off")
	for at := range 4 {
		opts := a.options()
		choose(&opts)
		ctx, breakOff := context.WithCancel(a.t.Context())
		defer breakOff()
		var r *rotate.Rotation
		if ask := opts.Ask; at < 3 {
			opts.Ask = func(ctx context.Context) (rotate.State, error) {
				if r.Done == at {
					breakOff()
					return rotate.State{}, broken
				}
				return ask(ctx)
			}
		}
		r, err := rotate.New(opts)
		if err != nil {
			a.t.Fatal(err)
		}
		if at == 0 {
			err = r.Begin()
		}
		if err == nil {
			err = r.Run(ctx)
		}
		if at < 3 && (!errors.Is(err, broken) || !rotate.Begun(a.dir)) || at == 3 && (err != nil || rotate.Begun(a.dir)) {
			a.t.Fatalf("call %d: %v", at, err)
		}
	}
}

// refuses checks that what was is right no longer, and that what is now is.
func (a *application) refuses(was map[string]string) {
	a.t.Helper()
	if old, ok := was[packager.ManagerPassword]; ok {
		c := client.New(a.address, "admin", old)
		if a.tls {
			c = client.With(client.Options{Address: a.address, User: "admin", Password: old, TLS: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}})
		}
		defer c.Close()
		var p *client.Problem
		if _, err := c.App(a.t.Context()); !errors.As(err, &p) || p.Status != http.StatusUnauthorized {
			a.t.Errorf("the manager with its old password: %v", err)
		}
	}
	pool := unitclient.NewPool(unitclient.Limits{})
	if a.tls {
		pool = unitclient.NewTLSPool(unitclient.Limits{}, a.clientTLS())
	}
	defer pool.Close()
	for _, addr := range a.units {
		ask := func(password string) error {
			_, err := pool.Client(addr, unitclient.Credentials{User: "admin", Name: "backend", Passwords: func() []string { return []string{password} }}).Identity(a.t.Context())
			return err
		}
		if err := ask(a.text("backend-password")); err != nil {
			a.t.Errorf("a unit with its password: %v", err)
		}
		if old, ok := was["backend-password"]; ok && !errors.Is(ask(old), unitclient.ErrUnauthorized) {
			a.t.Error("a unit accepts its old password")
		}
	}
	state, err := a.options().Ask(a.t.Context())
	if err != nil || len(state.Units) != 2 || state.Manager.Passwords != 1 || slices.ContainsFunc(state.Units, func(u rotate.Unit) bool { return u.Passwords != 1 || !u.Accepted || u.Problem != "" }) {
		a.t.Errorf("%v, %v", state, err)
	}
	if text := a.text(packager.NetrcFile); strings.Contains(text, was[packager.ManagerPassword]) && was[packager.ManagerPassword] != "" || !strings.Contains(text, a.text(packager.ManagerPassword)) {
		a.t.Errorf("netrc has\n%s", text)
	}
}
