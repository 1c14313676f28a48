package api_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/httpserver"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

// serve serves on a port of its own until the test ends, or until stop is called, and
// returns its address.
func serve(t *testing.T, h http.Handler, opts httpserver.Options) (address string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String(), serveOn(t, listener, h, opts)
}

// serveOn is serve on a listener.
func serveOn(t *testing.T, listener net.Listener, h http.Handler, opts httpserver.Options) (stop func()) {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- httpserver.Serve(ctx, listener, h, opts) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// dial connects for as long as a test may take.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

// head is that of a request.
func head(method, path string, headers ...string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\n%s\r\n", method, path, strings.Join(append(headers, ""), "\r\n"))
}

const (
	login   = "Authorization: Basic YWRtaW46cHc=" // admin:pw
	endless = "Content-Length: 100000"
	chunked = "Transfer-Encoding: chunked"
)

// trickle sends bytes of a body, one after the other, until it cannot.
func trickle(conn net.Conn, piece string) {
	for {
		time.Sleep(5 * time.Millisecond) // that is what a slow client does
		if _, err := io.WriteString(conn, piece); err != nil {
			return
		}
	}
}

// TestABodyThatTricklesHoldsNoConnection: whoever sends it is answered, and the
// connection is closed.
func TestABodyThatTricklesHoldsNoConnection(t *testing.T) {
	t.Parallel()
	address, _ := serve(t, handler(t, &app{}), httpserver.Options{Request: 100 * time.Millisecond})
	for name, c := range map[string]struct {
		head, piece string
		want        int
	}{
		"a read without a login":         {head("GET", "/api/v1/app", endless), " ", 401},
		"an operation without a login":   {head("POST", op, endless), " ", 401},
		"in chunks, without a login":     {head("POST", op, chunked), "1\r\n \r\n", 401},
		"a read":                         {head("GET", "/api/v1/app", endless, login), " ", 408},
		"a DELETE":                       {head("DELETE", op, endless, login), " ", 408},
		"an operation":                   {head("POST", op, endless, login), " ", 408},
		"an operation, in chunks":        {head("POST", op, chunked, login), "1\r\n \r\n", 408},
		"after a wish to be asked for":   {head("POST", op, endless, login, "Expect: 100-continue"), " ", 100},
		"what everybody may read":        {head("GET", "/healthz", endless), " ", 200},
		"what there is not":              {head("GET", "/nowhere", chunked), "1\r\n \r\n", 404},
		"a body that is never begun":     {head("POST", op, endless, login), "", 408},
		"a page of another site's":       {head("POST", op, endless, login, "Sec-Fetch-Site: cross-site"), " ", 403},
		"a body that is too large":       {head("POST", op, "Content-Length: 300000", login), strings.Repeat(" ", 50_000), 0}, // 413, or 408 if it was too slow for that
		"far too large, without a login": {head("POST", op, "Content-Length: 30000000"), " ", 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, address)
			if _, err := io.WriteString(conn, c.head); err != nil {
				t.Fatal(err)
			}
			go trickle(conn, c.piece)
			answers := bufio.NewReader(conn)
			answer, err := http.ReadResponse(answers, nil)
			if err != nil || c.want != 0 && answer.StatusCode != c.want {
				t.Fatalf("answered by %v, %v; want %d", answer, err, c.want)
			}
			answer.Body.Close()
			if _, err := io.Copy(io.Discard, answers); isTimeout(err) {
				t.Error("the connection is still open")
			}
		})
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// patient is an application whose operations end when the test says so.
type patient struct {
	*app
	begun, gone chan struct{} // gets one for each that begins, and whose caller goes away
	hold        chan struct{}
}

// newPatient is one for so many operations.
func newPatient(many int) *patient {
	return &patient{&app{}, make(chan struct{}, many), make(chan struct{}, many), make(chan struct{})}
}

func (p *patient) Execution(ctx context.Context, id string, _ time.Duration) (rest.Execution, error) {
	return p.Wait(ctx, id)
}

func (p *patient) Wait(ctx context.Context, id string) (rest.Execution, error) {
	p.begun <- struct{}{}
	select {
	case <-p.hold:
		return rest.Execution{ID: id, Outcome: wire.OutcomeSucceeded}, nil
	case <-ctx.Done():
		p.gone <- struct{}{}
		return rest.Execution{ID: id, Outcome: wire.OutcomeRunning}, ctx.Err()
	}
}

// TestLimitsOfTheRequestAreNoneOfTheAnswer: an operation may take longer than a request
// may take to arrive.
func TestLimitsOfTheRequestAreNoneOfTheAnswer(t *testing.T) {
	t.Parallel()
	for name, conf := range map[string]*tls.Config{"in the clear": nil, "by TLS": selfSigned(t)} {
		for kind, request := range map[string]string{
			"without a body": head("POST", op, login),
			"with a body":    head("POST", op, login, "Content-Length: 2") + "{}",
			"in chunks":      head("POST", op, login, chunked) + "2\r\n{}\r\n0\r\n\r\n",
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				p := newPatient(1)
				h, err := api.New(p, api.Options{Access: gate(t), Logger: slog.New(slog.DiscardHandler), AnswerTime: 800 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				address, _ := serve(t, h, httpserver.Options{Head: time.Second, Request: time.Second, TLS: conf})
				conn := dial(t, address)
				if conf != nil {
					conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
				}
				if _, err := io.WriteString(conn, request); err != nil {
					t.Fatal(err)
				}
				<-p.begun
				var late sync.WaitGroup
				late.Go(func() { // this one began later, and is ended by the limits
					slow := dial(t, address)
					_, _ = io.WriteString(slow, "GET /")
					_, _ = io.Copy(io.Discard, slow)
				})
				late.Wait()
				close(p.hold)
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil || answer.StatusCode != 200 {
					t.Fatalf("answered by %v, %v", answer, err)
				}
				answer.Body.Close()
			})
		}
	}
}

// TestWhoHangsUpIsNoticed: also by a read whose body nobody wants.
func TestWhoHangsUpIsNoticed(t *testing.T) {
	t.Parallel()
	for _, request := range []string{
		head("POST", op, login), head("POST", op, login, "Content-Length: 2") + "{}", head("POST", op, login, chunked) + "2\r\n{}\r\n0\r\n\r\n",
		head("GET", "/api/v1/executions/x?wait=60", login, "Content-Length: 2") + "{}",
	} {
		p := newPatient(1)
		h, err := api.New(p, api.Options{Access: gate(t), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		address, _ := serve(t, h, httpserver.Options{})
		conn := dial(t, address)
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		<-p.begun
		conn.Close()
		select {
		case <-p.gone:
		case <-time.After(time.Minute):
			t.Errorf("it is not noticed: %q", request)
		}
	}
}

// selfSigned is what a server needs for TLS.
func selfSigned(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"x"}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}}
}
