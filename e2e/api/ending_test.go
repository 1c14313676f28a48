package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/httpserver"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/users"
)

// TestNothingIsDroppedWhenServingEnds: what waits is answered, streams end as such, what
// is being read comes to its end, and what was begun goes on and is known to the next
// manager.
func TestNothingIsDroppedWhenServingEnds(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	l := enliven(t, hold, fakeunit.End{Target: "started"})
	l.calm()
	stopping := make(chan struct{})
	address, stop := serve(t, l.Handler, httpserver.Options{Grace: time.Minute, Stopping: func() {
		l.app.Close()
		close(stopping)
	}})
	open := func(request string) *bufio.Reader {
		t.Helper()
		conn := dial(t, address)
		_ = conn.(*net.TCPConn).SetReadBuffer(128 << 10) // so that what is not read has not arrived
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		return bufio.NewReader(conn)
	}
	whole := func(from *bufio.Reader) (*http.Response, string) {
		t.Helper()
		answer, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Errorf("the answer ends in the middle: %v after %d bytes", err, len(body))
		}
		return answer, string(body)
	}
	events, lines := open(head("GET", "/api/v1/events", login)), open(head("GET", "/api/v1/logs?follow=true", login))
	pages := open(head("GET", "/docs/swagger-ui-bundle.js"))
	waits := open(head("POST", op, login, "Content-Length: 18") + `{"id": "release7"}`)
	for _, begun := range []struct {
		*bufio.Reader
		by string
	}{{events, "event: start"}, {lines, "event: live"}, {pages, "Content-Type"}} {
		peekUntil(t, begun.Reader, begun.by)
	}
	var ending sync.WaitGroup
	ending.Go(stop)
	<-stopping
	for name, stream := range map[string]*bufio.Reader{"events": events, "lines": lines} {
		if answer, _ := whole(stream); answer.StatusCode != 200 {
			t.Errorf("%s: %s", name, answer.Status)
		}
	}
	if answer, text := whole(pages); answer.StatusCode != 200 || len(text) < 1e6 {
		t.Errorf("of the pages %d bytes have arrived: %s", len(text), answer.Status)
	}
	answer, text := whole(waits)
	var p rest.Problem
	if err := json.Unmarshal([]byte(text), &p); err != nil || answer.StatusCode != 503 || p.Execution != "release7" {
		t.Errorf("who waited was answered by %s, %v: %s", answer.Status, err, text)
	}
	ending.Wait()
	l.manage()
	close(hold)
	if x := execution(t, l.ask("GET", "/api/v1/executions/release7?wait=60", "")); x.Outcome != "succeeded" {
		t.Errorf("it has %s", x.Outcome)
	}
}

// peekUntil waits until something has arrived, and leaves it there.
func peekUntil(t *testing.T, from *bufio.Reader, text string) {
	t.Helper()
	for n := 1; ; n++ {
		arrived, err := from.Peek(n)
		if err != nil {
			t.Fatalf("%v after %q", err, arrived)
		}
		if bytes.Contains(arrived, []byte(text)) {
			return
		}
	}
}

// TestNothingIsDroppedWhenUsersChange: neither requests nor streams of those who are as
// they were.
func TestNothingIsDroppedWhenUsersChange(t *testing.T) {
	t.Parallel()
	l := enliven(t, nil, fakeunit.End{Target: "started"})
	l.calm()
	var list users.List
	if err := list.Add("ann", users.Operator, "a long password"); err != nil {
		t.Fatal(err)
	}
	var file atomic.Value
	set := func() {
		text, err := list.Encode()
		if err != nil {
			t.Fatal(err)
		}
		file.Store(text)
	}
	set()
	g, err := access.New(access.Options{
		First: "admin", Password: access.Always("pw"), SecretKey: access.Always("key"),
		Users: func() ([]byte, error) { return file.Load().([]byte), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := api.New(l.app, api.Options{Access: g, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	address, _ := serve(t, h, httpserver.Options{})
	const ann = "Authorization: Basic YW5uOmEgbG9uZyBwYXNzd29yZA=="
	stream := dial(t, address)
	answer, err := answerOf(stream, head("GET", "/api/v1/events", ann))
	if err != nil || answer.StatusCode != 200 {
		t.Fatal(answer, err)
	}
	defer answer.Body.Close()
	defer stream.Close()
	over := make(chan struct{})
	var asking sync.WaitGroup
	answered := make(chan int)
	for range 8 {
		asking.Go(func() {
			for {
				select {
				case answered <- statusOf(t, address, head("GET", "/api/v1/app", ann)):
				case <-over:
					return
				}
			}
		})
	}
	for n := range 20 {
		name := "bob" + strings.Repeat("b", n)
		if err := list.Add(name, users.Viewer, "another password"); err != nil {
			t.Fatal(err)
		}
		set()
		for range 20 {
			if status := <-answered; status != 200 {
				t.Errorf("ann was answered by %d", status)
			}
		}
	}
	close(over)
	asking.Wait()
	if w := l.ask("POST", push, ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	_ = stream.SetDeadline(time.Now().Add(time.Minute)) // what came before may have taken longer
	peekUntil(t, bufio.NewReader(answer.Body), "event: exit")
}
