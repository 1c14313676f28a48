package unitclient_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/unitclient"
)

// TestWhoseUnitHasEndedIsToldFromWhoIsSilent: the kernel of a process that ends closes
// its connections; of a machine that is cut off nothing arrives.
func TestWhoseUnitHasEndedIsToldFromWhoIsSilent(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		for name, kept := range map[string]bool{name + ", a new connection": false, name + ", a kept one": true} {
			for name, ends := range map[string]bool{name + ", ends": true, name + ", is silent": false} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					asked, hangs := make(chan struct{}, 8), !kept
					release := make(chan struct{})
					server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						if hangs {
							asked <- struct{}{}
							<-release
							panic(http.ErrAbortHandler)
						}
						hangs = true
						w.Header().Set("Toskose-Instance", "i1")
						_, _ = io.WriteString(w, `{"seq":1,"instance":"i1"}`+"\n")
					}))
					server.Config.ErrorLog = log.New(io.Discard, "", 0)
					limits := unitclient.Limits{Call: 300 * time.Millisecond}
					pool := unitclient.NewPool(limits)
					if secure {
						server.StartTLS()
						authority := x509.NewCertPool()
						authority.AddCert(server.Certificate())
						pool = unitclient.NewTLSPool(limits, &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS12})
					} else {
						server.Start()
					}
					t.Cleanup(pool.Close)
					t.Cleanup(server.Close)
					c := pool.Client(netip.MustParseAddrPort(server.Listener.Addr().String()), unitclient.Credentials{Passwords: func() []string { return []string{""} }, Name: "example.com"})
					if kept {
						if _, err := c.Journal(t.Context(), "i1:0", 10*time.Second); err != nil {
							t.Fatal(err)
						}
					}
					wait := time.Duration(0)
					if ends {
						wait = time.Minute
						go func() {
							<-asked
							server.Listener.Close()
							close(release)
						}()
					} else {
						t.Cleanup(func() { close(release) })
					}
					_, err := c.Journal(t.Context(), "i1:1", wait)
					if !errors.Is(err, unitclient.ErrUnreachable) || errors.Is(err, unitclient.ErrClosed) != ends {
						t.Errorf("%v", err)
					}
				})
			}
		}
	}
}

// TestAUnitThatEndsBetweenTwoRequestsHasEnded however often it is asked then.
func TestAUnitThatEndsBetweenTwoRequestsHasEnded(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Toskose-Instance", "i1")
		_, _ = io.WriteString(w, `{"seq":1,"instance":"i1"}`+"\n")
	}))
	pool := unitclient.NewPool(unitclient.Limits{})
	t.Cleanup(pool.Close)
	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	credentials := unitclient.Credentials{Passwords: func() []string { return []string{""} }}
	c := pool.Client(at, credentials)
	if _, err := c.Journal(t.Context(), "i1:0", 0); err != nil {
		t.Fatal(err)
	}
	server.Close()
	for range 3 {
		if _, err := c.Journal(t.Context(), "i1:1", 0); !errors.Is(err, unitclient.ErrClosed) {
			t.Errorf("%v", err)
		}
	}
	if _, err := pool.Client(at, credentials).Journal(t.Context(), "i1:1", 0); !errors.Is(err, unitclient.ErrUnreachable) || errors.Is(err, unitclient.ErrClosed) {
		t.Errorf("who never heard it: %v", err)
	}
}
