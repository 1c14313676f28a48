package httpserver_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/manager/httpserver"
)

func TestMain(m *testing.M) { leak.Main(m) }

// serve serves on a port of its own until the test ends, and returns its address.
func serve(t *testing.T, h http.Handler, opts httpserver.Options) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opts.Logger = slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- httpserver.Serve(ctx, listener, h, opts) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// secured is what a server needs for TLS.
func secured(t *testing.T) *tls.Config {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: server.TLS.Certificates}
}

// get asks on a connection of its own, and returns the status; 0: the connection was closed.
func get(url string) int {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}}
	answer, err := client.Get(url)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// holding is a handler whose requests to /held hold their connections until the test says so.
type holding struct{ begun, hold chan struct{} }

func (h holding) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/held" {
		return
	}
	release, ok := httpserver.Hold(r)
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer release()
	h.begun <- struct{}{}
	<-h.hold
}

// TestAHeldConnectionIsNotClosedForAnother: the others make room, in the clear and behind
// what encrypts them, and an eighth of all is left to them.
func TestAHeldConnectionIsNotClosedForAnother(t *testing.T) {
	t.Parallel()
	for scheme, conf := range map[string]*tls.Config{"http": nil, "https": secured(t)} {
		for _, room := range []struct{ all, held int }{{8, 7}, {2, 2}, {1, 1}} {
			h := holding{make(chan struct{}), make(chan struct{})}
			address := serve(t, h, httpserver.Options{Connections: room.all, TLS: conf})
			url := scheme + "://" + address + "/"
			var held sync.WaitGroup
			for range room.held {
				for range 2 * room.all { // which are idle
					conn, err := net.Dial("tcp", address)
					if err != nil {
						t.Fatal(err)
					}
					defer conn.Close()
				}
				held.Go(func() {
					if status := get(url + "held"); status != http.StatusOK {
						t.Errorf("%s, room for %d: who was held is answered %d", scheme, room.all, status)
					}
				})
				<-h.begun
			}
			wantOther, wantHeld := http.StatusOK, http.StatusServiceUnavailable
			if room.held == room.all {
				wantOther, wantHeld = 0, 0
			}
			if status := get(url); status != wantOther {
				t.Errorf("%s, room for %d: another is answered %d, want %d", scheme, room.all, status, wantOther)
			}
			if status := get(url + "held"); status != wantHeld {
				t.Errorf("%s, room for %d: one more to hold is answered %d, want %d", scheme, room.all, status, wantHeld)
			}
			close(h.hold)
			held.Wait()
			if status := get(url); status != http.StatusOK {
				t.Errorf("%s, room for %d: when they are over: %d", scheme, room.all, status)
			}
		}
	}
}

func TestServingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	waiting, stopping := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(waiting)
		<-stopping
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- httpserver.Serve(ctx, listener, slow, httpserver.Options{
			Connections: 2, Grace: time.Minute, Logger: slog.New(slog.DiscardHandler), Stopping: func() { close(stopping) },
		})
	}()
	answered := make(chan int, 1)
	go func() {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Get("http://" + listener.Addr().String())
		if err != nil {
			answered <- 0
			return
		}
		answer.Body.Close()
		answered <- answer.StatusCode
	}()
	<-waiting
	cancel()
	if status := <-answered; status != http.StatusServiceUnavailable {
		t.Errorf("who waited was answered %d", status)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
