package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/unit/logs"
)

// talking is an application whose operations have printed two lines each.
func talking(t *testing.T) *live {
	t.Helper()
	l := enliven(t, nil, fakeunit.End{Target: "started"})
	for i, u := range append(l.backends, l.frontend) {
		log := logs.New(filepath.Join(t.TempDir(), "log"), logs.Options{Now: time.Now})
		t.Cleanup(func() { log.Close() })
		u.Files = map[string]*logs.File{[]string{"api:Standard.start stdout", "api:Standard.start stderr", "gui:Standard.start stdout"}[i]: log}
		for _, line := range []string{"one", "two"} {
			if _, err := fmt.Fprintf(log, "%d %s\n", i, line); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

type linesPage struct {
	Lines []struct{ Line, Component string }
	Notes []struct{ Kind, Why string }
	Next  string
}

func (p linesPage) String() string {
	var all []string
	for _, line := range p.Lines {
		all = append(all, line.Line)
	}
	return strings.Join(all, "; ")
}

func TestLinesHavePages(t *testing.T) {
	t.Parallel()
	l := talking(t)
	var seen []string
	next, link := "", "x"
	for link != "" {
		path := "/api/v1/logs?limit=2&after=" + next
		w := l.ask("GET", path, "")
		page := read[linesPage](l, path)
		for _, line := range page.Lines {
			seen = append(seen, line.Line)
		}
		if link = w.Header().Get("Link"); link != "" && len(page.Lines) != 2 {
			t.Fatalf("a page is %+v", page)
		}
		next = page.Next
	}
	if got := strings.Join(seen, "; "); got != "0 one; 0 two; 1 one; 1 two; 2 one; 2 two" {
		t.Errorf("%s", got)
	}
	if page := read[linesPage](l, "/api/v1/logs?of=gui&tail=1"); page.String() != "2 two" || page.Lines[0].Component != "gui" {
		t.Errorf("%+v", page)
	}
	if w := l.ask("GET", "/api/v1/logs?stream=stderr&text=two", "", "Accept: text/plain"); w.Body.String() != "api:Standard.start | 1 two\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for path, want := range map[string]int{
		"?tail=x": 422, "?tail=10001": 422, "?since=now": 422, "?limit=0": 422, "?follow=maybe": 422, "?match=(": 422, "?after=x": 422, "?follow=true&until=2026-11-22T12:00:00Z": 422,
		"?of=nowhere": 404, "?of=store": 409, "?of=api/start": 409, "?replica=b9": 404,
	} {
		if w := l.ask("GET", "/api/v1/logs"+path, ""); w.Code != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := l.ask("HEAD", "/api/v1/logs?follow=true", ""); w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
}

// stream follows lines on a real connection, from the event with an id on.
func (l *live) stream(ctx context.Context, url, last string) (*bufio.Scanner, func()) {
	l.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		l.t.Fatal(err)
	}
	r.SetBasicAuth("admin", "pw")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	return bufio.NewScanner(answer.Body), func() { answer.Body.Close() }
}

func TestLinesAreFollowedAndGoneOnWith(t *testing.T) {
	t.Parallel()
	l := talking(t)
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var lines, kinds []string
	last := ""
	for range 7 { // six lines, each of another connection, and that there are no more
		body, hangUp := l.stream(ctx, server.URL+"/api/v1/logs?follow=true", last)
		for kind := ""; body.Scan(); {
			if id, ok := strings.CutPrefix(body.Text(), "id: "); ok {
				last = id
			}
			if event, ok := strings.CutPrefix(body.Text(), "event: "); ok {
				kind = event
			}
			if data, ok := strings.CutPrefix(body.Text(), "data: "); ok {
				var line struct{ Line string }
				if err := json.Unmarshal([]byte(data), &line); err != nil {
					t.Error(err)
				}
				lines, kinds = append(lines, line.Line), append(kinds, kind)
				break
			}
		}
		hangUp()
	}
	if got := strings.Join(lines, "; "); got != "0 one; 0 two; 1 one; 1 two; 2 one; 2 two; " || kinds[5] != "line" || kinds[6] != "live" {
		t.Errorf("%s: %q, %v", got, kinds, ctx.Err())
	}
}

// TestManyFollowLines: none keeps another from its lines, not even those that do not
// read, and nothing is left of those that hang up.
func TestManyFollowLines(t *testing.T) {
	t.Parallel()
	const followers, idle, lines = 200, 20, 20
	l := talking(t)
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var ready, following, hanging sync.WaitGroup
	over := make(chan struct{})
	ready.Add(followers + idle)
	for i := range followers + idle {
		group := &following
		if i >= followers {
			group = &hanging
		}
		group.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/logs?of=gui&follow=true&tail=0", http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			r.SetBasicAuth("admin", "pw")
			answer, err := client.Do(r)
			if err != nil {
				t.Error(err)
				ready.Done()
				return
			}
			defer answer.Body.Close()
			body := bufio.NewScanner(answer.Body)
			for body.Scan() && body.Text() != "event: live" {
			}
			ready.Done()
			if i >= followers {
				<-over // reads no more
				return
			}
			for n := 0; n < lines && body.Scan(); {
				if strings.Contains(body.Text(), fmt.Sprintf(`"line":"line %d `, n)) {
					n++
				} else if strings.Contains(body.Text(), `"line":`) {
					t.Errorf("follower %d: %.100s after %d lines", i, body.Text(), n)
					return
				}
			}
		})
	}
	ready.Wait()
	log := l.frontend.Files["gui:Standard.start stdout"]
	for n := range lines {
		if _, err := fmt.Fprintf(log, "line %d %s\n", n, strings.Repeat("x", 1000)); err != nil {
			t.Error(err)
		}
	}
	following.Wait()
	if ctx.Err() != nil {
		t.Error("not all followers have all lines")
	}
	close(over)
	hanging.Wait()
}
