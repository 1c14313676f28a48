//go:build !windows

package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/manager/users"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
)

// world is the model of an example over real units, which run something else in the place
// of its scripts, and a real manager.
type world struct {
	*httptest.Server
	app   *manager.App
	found *containers
	away  *atomic.Bool // it does not answer
	users *accounts
	units map[string]*testunit.Unit
	fails string // a file with the operations that fail, api.configure, while it is there
}

// accounts are the users beside the first.
type accounts struct {
	mu   sync.Mutex
	list users.List
}

func (a *accounts) file() ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.list.Encode()
}

func (a *accounts) remove(t testing.TB, name string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.list.Remove(name); err != nil {
		t.Fatal(err)
	}
}

// run runs an operation to its end.
func (w *world) run(t testing.TB, node, component, operation string) {
	t.Helper()
	x, err := w.app.Start(t.Context(), rest.RunRequest{Node: node, Component: component, Operation: operation, By: "somebody"})
	if err == nil {
		x, err = w.app.Wait(t.Context(), x.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// containers finds the replicas of all nodes.
type containers struct {
	mu    sync.Mutex
	of    map[string][]netip.AddrPort
	ended atomic.Bool // no standalone container is there
}

func (c *containers) Replicas(_ context.Context, node string, _ int) ([]netip.AddrPort, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.of[node]), nil
}

func (c *containers) Clients(context.Context, string) ([]netip.Addr, bool, error) {
	return nil, true, nil
}

// Running says of a standalone container that it is there, until it has ended.
func (c *containers) Running(context.Context, string, []int) ([]netip.Addr, error) {
	if c.ended.Load() {
		return nil, discovery.ErrNone
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func load(t testing.TB, folder string) *spec.Application {
	t.Helper()
	archive, err := csar.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	app, _, err := tosca.Load(t.Context(), archive, tosca.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// sampling is the interval between samples of components; 0: the manager's own.
var sampling time.Duration

func newThinking(t testing.TB) *world { return newWorld(t, "thinking") }

func newWorld(t testing.TB, example string, changes ...func(*spec.Application)) *world {
	t.Helper()
	model := load(t, "../../examples/"+example)
	for _, change := range changes {
		change(model)
	}
	found := &containers{of: map[string][]netip.AddrPort{}}
	units, fails := map[string]*testunit.Unit{}, filepath.Join(t.TempDir(), "fails")
	for i := range model.Nodes {
		n := &model.Nodes[i]
		hosted := slices.DeleteFunc(slices.Clone(model.Components), func(c spec.Component) bool { return c.Node != n.Name })
		if len(hosted) == 0 {
			continue
		}
		n.Unit = &spec.Unit{Port: 9001, User: "admin"}
		units[n.Name] = testunit.Run(t, "unit's", func(folder string, port uint16) []byte {
			return unitConfig(t, folder, fails, port, hosted)
		})
		found.of[n.Name] = []netip.AddrPort{units[n.Name].Addr}
	}
	app, err := manager.New(model, manager.Options{
		Containers: found, Passwords: func(string) []string { return []string{"unit's"} }, Limits: unitclient.Limits{Call: time.Minute, Connect: time.Minute}, Sample: sampling,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Close)
	away := &atomic.Bool{}
	all := accountsOf(t)
	return &world{serveTo(t, all, app, away), app, found, away, all, units, fails}
}

// accountsOf are an operator and a viewer.
func accountsOf(t testing.TB) *accounts {
	t.Helper()
	all := &accounts{}
	for name, role := range map[string]users.Role{"olga": users.Operator, "vera": users.Viewer} {
		if err := all.list.Add(name, role, name+"'s password"); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// serve is the API for admin, an operator and a viewer.
func serve(t testing.TB, app api.Application, away *atomic.Bool) *httptest.Server {
	t.Helper()
	return serveTo(t, accountsOf(t), app, away)
}

func serveTo(t testing.TB, all *accounts, app api.Application, away *atomic.Bool) *httptest.Server {
	t.Helper()
	gate, err := access.New(access.Options{First: "admin", Password: access.Always("pw"), Users: all.file})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := api.New(app, api.Options{Access: gate, Version: "1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// unitConfig is that of a unit whose operations say what they are; a start stays.
func unitConfig(t testing.TB, folder, fails string, port uint16, components []spec.Component) []byte {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "[supervisord]\nnodaemon=true\nlogfile=%[1]s/unit.log\npidfile=%[1]s/unit.pid\nchildlogdir=%[1]s\ntoskose_journal=%[1]s/journal\ntoskose_documents=%[1]s/documents\n\n"+
		"[inet_http_server]\nport=127.0.0.1:%[2]d\nusername=admin\ntoskose_auth=required\n\n", folder, port)
	for _, c := range components {
		var programs []string
		for name, o := range c.Operations() {
			if o.Script == "" {
				continue
			}
			process := name.Name
			if name.Interface != protocol.Standard {
				process = name.String()
			}
			command := "echo " + c.Name + ": " + name.Name
			kind := c.Protocol.KindOf(name)
			if kind != protocol.KindStart && c.Task == nil {
				command += fmt.Sprintf("; ! grep -qsx %s.%s %s || (echo cannot reach the store at store:6379 >&2; exit 3)", c.Name, name.Name, fails)
			}
			if kind == protocol.KindStart {
				command = fmt.Sprintf("! grep -qsx %[1]s.start %[2]s || { echo Address already in use >&2; exit 1; }; %[3]s and listening; echo $$ >%[1]s.pid; exec sleep 1000", c.Name, fails, command)
			} else if kind == protocol.KindStop { // where it did not, the unit would for ten seconds
				command += fmt.Sprintf("; kill $(cat %s.pid)", c.Name)
			} else if c.Task != nil { // of several indexes one fails, once
				command += fmt.Sprintf(" $INPUT_TASK_INDEX; test $INPUT_TASK_INDEX = 0 -o -e %[1]s-failed || (touch %[1]s-failed; exit 9)", c.Name)
			}
			inputs := map[string]string{}
			for _, in := range o.Inputs {
				inputs[strings.ToUpper(in.Name)] = in.Value
			}
			declared, err := json.Marshal(inputs)
			if err != nil {
				t.Fatal(err)
			}
			programs = append(programs, c.Name+"."+process)
			fmt.Fprintf(&b, "[program:%[1]s.%[2]s]\nprocess_name=%[2]s\ncommand=/bin/sh -c '%[3]s'\ndirectory=%[4]s\nautostart=false\nautorestart=false\nstartsecs=0\nstartretries=0\n"+
				"toskose_component=%[1]s\ntoskose_interface=%[5]s\ntoskose_operation=%[6]s\ntoskose_inputs=%[7]s\n\n",
				c.Name, process, command, folder, name.Interface, kind, strings.ReplaceAll(string(declared), "%", "%%"))
		}
		text, err := json.Marshal(c.Protocol)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "[group:%s]\nprograms=%s\n\n[toskose:component:%[1]s]\ntoskose_protocol=%[3]s\n\n", c.Name, strings.Join(programs, ","), text)
	}
	return []byte(b.String())
}
