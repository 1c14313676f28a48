package rpc

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener without a network. Tests of what takes time serve on it
// in a bubble, where time passes when everybody waits.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// dial returns a connection that has said text.
func (p *pipes) dial(t *testing.T, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, there := net.Pipe()
	t.Cleanup(func() { conn.Close() })
	p.conns <- there
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// inBubble serves on pipes while test runs; over TLS, where there are files.
func inBubble(t *testing.T, limits Limits, test func(t *testing.T, serve func(Unit, *TLSFiles) *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, func(u Unit, files *TLSFiles) *pipes {
			t.Helper()
			p := &pipes{conns: make(chan net.Conn, 8), closed: make(chan struct{})}
			handler := New(Options{Unit: u, Logger: quiet(), Limits: limits})
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			if files == nil {
				go func() { done <- Serve(ctx, p, handler, limits, quiet()) }()
			} else {
				config, err := NewTLS(*files, quiet())
				if err != nil {
					t.Fatal(err)
				}
				go func() { done <- ServeTLS(ctx, p, config, handler, limits, quiet()) }()
			}
			t.Cleanup(func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
			return p
		})
	})
}

func TestAClientThatIsSlowToAskIsCutOff(t *testing.T) {
	t.Parallel()
	const most = 10 * time.Second
	inBubble(t, Limits{HeaderTime: most, BodyTime: most}, func(t *testing.T, serve func(Unit, *TLSFiles) *pipes) {
		p, begin := serve(newFake(), nil), time.Now()
		_, header := p.dial(t, "POST /RPC2 HTTP/1.1\r\nHost: x\r\nX-Slow: ")
		_, call := p.dial(t, "POST /RPC2 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n<methodCall>")
		_, health := p.dial(t, "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx")
		if rest, err := io.ReadAll(header); err != nil || len(rest) != 0 {
			t.Errorf("a slow header got %q, %v", rest, err)
		}
		for name, body := range map[string]io.Reader{"call": call, "health": health} {
			if _, err := io.ReadAll(body); err != nil {
				t.Errorf("%s: the connection stays open: %v", name, err)
			}
		}
		if took := time.Since(begin); took != most {
			t.Errorf("they were cut off after %v, not %v", took, most)
		}
	})
}

func TestACallMayTakeLongerThanItsBodyMay(t *testing.T) {
	t.Parallel()
	const most = 10 * time.Second
	inBubble(t, Limits{HeaderTime: most, BodyTime: most, WriteTime: most}, func(t *testing.T, serve func(Unit, *TLSFiles) *pipes) {
		w := waiting{newFake(), make(chan struct{}), make(chan error, 1), 2 * most}
		body := methodCall("supervisor.startAllProcesses")
		_, r := serve(w, nil).dial(t, "POST /RPC2 HTTP/1.1\r\nHost: x\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
		if got := status(t, r); got != http.StatusOK {
			t.Errorf("status %d", got)
		}
		if err := <-w.ended; err != nil {
			t.Errorf("the call ended with %v", err)
		}
	})
}

func TestAHandshakeIsLimitedAsAHeaderIs(t *testing.T) {
	t.Parallel()
	const most = 10 * time.Second
	inBubble(t, Limits{HeaderTime: most}, func(t *testing.T, serve func(Unit, *TLSFiles) *pipes) {
		a, files := newAuthority(t), tlsFiles(t)
		pair, _ := a.server()
		files.write(t, pair)
		p := serve(newFake(), &files)
		config := &tls.Config{RootCAs: a.pool(), ServerName: "unit"}
		// One that says nothing keeps nobody out, and is closed when its time is over.
		begin := time.Now()
		_, silent := p.dial(t, "")
		conn, _ := p.dial(t, "")
		second := tls.Client(conn, config)
		if _, err := io.WriteString(second, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if got := status(t, bufio.NewReader(second)); got != http.StatusOK || time.Since(begin) != 0 {
			t.Errorf("beside the silent one: status %d after %v", got, time.Since(begin))
		}
		conn.Close()
		if rest, err := io.ReadAll(silent); err != nil || len(rest) != 0 || time.Since(begin) != most {
			t.Errorf("the silent one got %q, %v after %v, want nothing after %v", rest, err, time.Since(begin), most)
		}
		// So is one that stops within its header.
		conn, _ = p.dial(t, "")
		slow := tls.Client(conn, config)
		if _, err := io.WriteString(slow, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: "); err != nil {
			t.Fatal(err)
		}
		begin = time.Now()
		if rest, err := io.ReadAll(slow); err != nil || len(rest) != 0 || time.Since(begin) != most {
			t.Errorf("a slow header got %q, %v after %v, want nothing after %v", rest, err, time.Since(begin), most)
		}
	})
}
