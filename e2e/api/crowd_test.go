package api_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/httpserver"
	"github.com/toskose/toskose/unit/logs"
)

// answerOf sends a request and returns the answer, with its body unread.
func answerOf(conn net.Conn, request string) (*http.Response, error) {
	if _, err := io.WriteString(conn, request); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(conn), nil)
}

// statusOf asks on a connection of its own.
func statusOf(t *testing.T, address, request string) int {
	t.Helper()
	conn := dial(t, address)
	defer conn.Close()
	answer, err := answerOf(conn, request)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Error(err)
	}
	return answer.StatusCode
}

// TestWhoIsIdleKeepsNobodyOut: however many connections are idle, slow or of nobody who
// is known, requests get through, and none that is under way is lost to them.
func TestWhoIsIdleKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	const room, held = 16, 14
	p := newPatient(held)
	h, err := api.New(p, api.Options{Access: gate(t), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	address, _ := serve(t, h, httpserver.Options{Connections: room})
	var waiting []net.Conn
	var crowd []net.Conn
	for i := range held {
		for n := range 3 * room {
			conn := dial(t, address)
			crowd = append(crowd, conn)
			switch n % 3 {
			case 1: // slow
				_, _ = io.WriteString(conn, "GET /api")
			case 2: // nobody, and what it asks for does not come to an end
				_, _ = io.WriteString(conn, head("POST", op, endless))
			}
		}
		conn := dial(t, address)
		waiting = append(waiting, conn)
		if _, err := io.WriteString(conn, head("POST", op, login)); err != nil {
			t.Fatal(err)
		}
		<-p.begun
		if status := statusOf(t, address, head("GET", "/healthz")); status != 200 {
			t.Fatalf("with %d under way: %d", i+1, status)
		}
	}
	if status := statusOf(t, address, head("GET", "/api/v1/app", login)); status != 503 {
		t.Errorf("with as many under way as there may be: %d", status)
	}
	close(p.hold)
	for _, conn := range waiting {
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != 200 {
			t.Fatalf("who waited was answered by %v, %v", answer, err)
		}
		answer.Body.Close()
	}
	if status := statusOf(t, address, head("GET", "/api/v1/app", login)); status != 200 {
		t.Errorf("when they are over: %d", status)
	}
	gone := 0
	for _, conn := range crowd {
		_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := conn.Read(make([]byte, 1)); !isTimeout(err) {
			gone++
		}
	}
	if gone < len(crowd)-room {
		t.Errorf("of %d that were idle or slow %d are gone", len(crowd), gone)
	}
}

// counted knows how many connections came, and how many are open. They hold little of
// what nobody reads: the system's default is megabytes for each.
type counted struct {
	net.Listener
	came, open atomic.Int64
}

func (l *counted) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.came.Add(1)
		l.open.Add(1)
		_ = conn.(*net.TCPConn).SetWriteBuffer(4096)
		conn = &countedConn{Conn: conn, closed: sync.OnceFunc(func() { l.open.Add(-1) })}
	}
	return conn, err
}

type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// guest is a kind of clients. What it returns is what it asked wrongly, or was answered.
type guest struct {
	name  string
	visit func(conn net.Conn, n int) error
	stays bool // does nothing any more, but does not hang up
}

// status is of an answer that is read to its end.
func status(conn net.Conn, request string, allowed ...int) error {
	answer, err := answerOf(conn, request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	for _, code := range allowed {
		if answer.StatusCode == code {
			return nil
		}
	}
	return fmt.Errorf("answered by %s", answer.Status)
}

// follow reads a stream until a line begins so, and hangs up.
func follow(conn net.Conn, path, until string) error {
	answer, err := answerOf(conn, head("GET", path, login))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	defer conn.Close() // before that, which reads to the end
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), until) {
			return nil
		}
	}
	return fmt.Errorf("%s ends before %q: %s, %w", path, until, answer.Status, lines.Err())
}

// begin sends something and reads nothing.
func begin(request string) func(net.Conn, int) error {
	return func(conn net.Conn, _ int) error {
		_ = conn.(*net.TCPConn).SetReadBuffer(4096)
		_, err := io.WriteString(conn, request)
		return err
	}
}

var guests = []guest{
	{name: "reads twice", visit: func(conn net.Conn, n int) error {
		path := []string{"/api/v1/app", "/api/v1/components", "/api/v1/executions", "/metrics", "/openapi.json"}[n%5]
		allowed := []int{200}
		if path == "/metrics" {
			allowed = append(allowed, 503) // it answers four at a time
		}
		if err := status(conn, head("GET", path, login), allowed...); err != nil {
			return err
		}
		return status(conn, head("GET", path, login), allowed...)
	}},
	{name: "runs an operation", visit: func(conn net.Conn, _ int) error {
		return status(conn, head("POST", push, login), 200, 409) // one at a time
	}},
	{name: "runs an operation and hangs up", visit: begin(head("POST", push, login))},
	{name: "waits for events and hangs up", visit: begin(head("GET", "/api/v1/events?wait=60&after=x", login, asJSON))},
	{name: "follows events", visit: func(conn net.Conn, _ int) error { return follow(conn, "/api/v1/events", "event: state") }},
	{name: "follows lines", visit: func(conn net.Conn, _ int) error {
		return follow(conn, "/api/v1/logs?follow=true&tail=1", "event: live")
	}},
	{name: "does not say what it wants", visit: begin(""), stays: true},
	{name: "does not say all of it", visit: begin("POST " + op + " HTTP/1.1\r\nHost: "), stays: true},
	{name: "does not send its body", visit: begin(head("POST", op, login, endless)), stays: true},
	{name: "sends a body nobody wants, and not all of it", visit: begin(head("GET", "/api/v1/app", endless) + "{"), stays: true},
	{name: "does not read", visit: begin(strings.Repeat(head("GET", "/openapi.json"), 50)), stays: true},
	{name: "does not read the pages", visit: begin(strings.Repeat(head("GET", "/docs/swagger-ui-bundle.js"), 5)), stays: true},
	{name: "does not read lines", visit: func(conn net.Conn, n int) error {
		path := "/api/v1/logs?follow=true&tail=10000"
		if n >= 10 { // which would take long
			path = "/api/v1/app"
		}
		return begin(strings.Repeat(head("GET", path, login), 50))(conn, n)
	}, stays: true},
	{name: "hangs up in the middle of its request", visit: begin("GET /api/v1/app HTTP/1.1\r\n")},
	{name: "hangs up in the middle of its answer", visit: begin(head("GET", "/openapi.json"))},
}

// TestAThousandClientsLeaveNothingBehind has all of them come at once, and does not run
// beside other tests: it looks at all goroutines.
func TestAThousandClientsLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // see above
	t.Run("while they are there", func(t *testing.T) { //nolint:paralleltest // see above
		l := talking(t)
		h, err := api.New(l.app, api.Options{Access: gate(t), Logger: slog.New(slog.DiscardHandler), AnswerTime: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		l.Handler = h
		l.calm()
		flood(t, l.frontend.Files["gui:Standard.start stdout"])
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		door := &counted{Listener: listener}
		stop := serveOn(t, door, h, httpserver.Options{Head: 5 * time.Second, Request: 5 * time.Second, Idle: 5 * time.Second})
		const many = 1000
		visitAll(t, listener.Addr().String(), many)
		for deadline := time.Now().Add(2 * time.Minute); door.came.Load() < many || door.open.Load() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("of %d connections %d are left", door.came.Load(), door.open.Load())
			}
		}
		if text := l.ask("GET", "/metrics", "").Body.String(); !strings.Contains(text, "\ntoskose_manager_followers 0\n") {
			t.Errorf("somebody is still followed for: %s", text)
		}
		if running := l.ask("GET", "/api/v1/executions?outcome=running", "").Body.String(); !strings.Contains(running, `"executions": []`) {
			t.Errorf("still running: %s", running)
		}
		stop()
	})
	leak.None(t)
}

// flood writes more than what fits between a server and a client that does not read.
func flood(t *testing.T, log *logs.File) {
	t.Helper()
	line := strings.Repeat("x", 999) + "\n"
	for range 1000 {
		if _, err := io.WriteString(log, line); err != nil {
			t.Fatal(err)
		}
	}
}

// visitAll has so many guests come. Those that stay hang up when the test ends.
func visitAll(t *testing.T, address string, many int) {
	t.Helper()
	var visits sync.WaitGroup
	for n := range many {
		kind := guests[n%len(guests)]
		conn := dial(t, address)
		visits.Go(func() {
			if err := kind.visit(conn, n/len(guests)); err != nil {
				t.Errorf("who %s: %v", kind.name, err)
			}
			if !kind.stays {
				conn.Close()
			}
		})
	}
	visits.Wait()
}
