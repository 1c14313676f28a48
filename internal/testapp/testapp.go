// Package testapp is an application for tests that need one that runs: the component api, by
// real units (see testunit), behind a real manager in this process, which ends with the test.
package testapp

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// Shop is the model of the application: api, as testunit.API configures it, in the
// container backend.
func Shop() *spec.Application {
	return &spec.Application{
		Name:  "shop",
		Nodes: []spec.Node{{Name: "backend", Type: "tosker.nodes.Container", Protocol: protocol.Container().Hosting(), Unit: &spec.Unit{Port: 9001, User: "admin"}}},
		Components: []spec.Component{{
			Name: "api", Host: "backend", Node: "backend", Protocol: testunit.Lifecycle(), Interfaces: []spec.Interface{{Name: "Standard", Operations: []spec.Operation{
				{Name: "configure", Script: "configure.sh", Inputs: []spec.OperationInput{{Name: "port"}, {Name: "code"}}},
				{Name: "start", Script: "start.sh"},
				{Name: "stop"},
			}}},
		}},
	}
}

// Options configure the addresses that the manager connects to.
type Options struct {
	Units     []netip.AddrPort  // the replicas of every container
	Found     mirror.Containers // nil: Units
	Passwords func(node string) []string
	UnitTLS   *tls.Config // with units; nil: plain HTTP

	Access       access.Options
	Listen       net.Listener                                                 // of the API; nil: at any port
	TLS          *tls.Config                                                  // of the API; nil: plain HTTP
	Certificates func() (certificate string, authorities []string, err error) // see api.Options
}

// Serve runs the manager of an application until the test ends.
func Serve(t testing.TB, model *spec.Application, o Options) *httptest.Server {
	t.Helper()
	if o.Found == nil {
		o.Found = replicas(o.Units)
	}
	apps, err := manager.NewLearner(model, manager.Options{
		Containers: o.Found, Passwords: o.Passwords, TLS: o.UnitTLS, Limits: unitclient.Limits{Call: time.Minute, Connect: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(apps.Close)
	gate, err := access.New(o.Access)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := api.New(apps.Current(), api.Options{Access: gate, Version: "1", Logger: slog.New(slog.DiscardHandler), Certificates: o.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	learned := make(chan error, 1)
	go func() {
		learned <- apps.Run(t.Context(), func(next func() (*manager.App, error)) error {
			return handler.Replace(func() (api.Application, error) { return next() })
		})
	}()
	t.Cleanup(func() {
		if err := <-learned; err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewUnstartedServer(handler)
	if o.Listen != nil {
		server.Listener.Close()
		server.Listener = o.Listen
	}
	if o.TLS != nil {
		server.Listener = tls.NewListener(server.Listener, o.TLS)
	}
	server.Start()
	if o.TLS != nil {
		server.URL = "https://" + server.Listener.Addr().String()
	}
	t.Cleanup(server.Close)
	return server
}

// replicas are the containers of each node.
type replicas []netip.AddrPort

func (r replicas) Replicas(context.Context, string, int) ([]netip.AddrPort, error) { return r, nil }

func (r replicas) Clients(context.Context, string) ([]netip.Addr, bool, error) {
	return nil, true, nil
}

func (r replicas) Running(context.Context, string, []int) ([]netip.Addr, error) { return nil, nil }
