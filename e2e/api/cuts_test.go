package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	storydice "github.com/toskose/toskose/internal/dice"
	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager/httpserver"
)

// sent is one server-sent event.
type sent struct{ id, kind, data string }

// cutStream follows a stream on one connection after the other. Each is cut off after some
// bytes, wherever that is, until it was cut off so often; the last ends by enough.
type cutStream struct {
	*testing.T
	*rand.Rand
	address, path string
	last          string // the id of the last event that arrived whole
	cuts          int
}

func (c *cutStream) follow(most int, each func(sent) (enough bool)) {
	c.Helper()
	for ; ; c.cuts++ {
		bytes := c.IntN(most)
		if c.cuts >= 10 {
			bytes = 1 << 40
		}
		if c.once(int64(bytes), each) {
			return
		}
	}
}

func (c *cutStream) once(most int64, each func(sent) (enough bool)) (enough bool) {
	c.Helper()
	conn := dial(c.T, c.address)
	headers := []string{login}
	if c.last != "" {
		headers = append(headers, "Last-Event-ID: "+c.last)
	}
	answer, err := answerOf(conn, head("GET", c.path, headers...))
	if err != nil || answer.StatusCode != http.StatusOK {
		c.Fatalf("%s after %q: %v, %v", c.path, c.last, answer, err)
	}
	defer answer.Body.Close()
	defer conn.Close()
	body := io.LimitReader(answer.Body, most)
	var arrived []byte
	for piece := make([]byte, 512); ; {
		n, err := body.Read(piece)
		arrived = append(arrived, piece[:n]...)
		for {
			text, rest, whole := bytes.Cut(arrived, []byte("\n\n"))
			if !whole {
				break
			}
			arrived = rest
			if e := read1(string(text)); e.id != "" || e.kind != "" {
				c.last = e.id
				if each(e) {
					return true
				}
			}
		}
		if err == io.EOF {
			return false
		}
		if err != nil {
			c.Fatalf("%s after %q: %v", c.path, c.last, err)
		}
	}
}

// read1 reads an event.
func read1(text string) (e sent) {
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		}
	}
	return e
}

// TestAFollowerOfLinesThatIsCutOffHasEachLineOnce: by HTTP, while lines are printed.
func TestAFollowerOfLinesThatIsCutOffHasEachLineOnce(t *testing.T) {
	t.Parallel()
	const many = 200 // in each log
	l := talking(t)
	address, _ := serve(t, l.Handler, httpserver.Options{})
	printing := make(chan struct{}, 3*many)
	var printers sync.WaitGroup
	for i, u := range append(l.backends, l.frontend) {
		for _, log := range u.Files {
			printers.Go(func() {
				for n := range many {
					<-printing // one for each line that has arrived, and more
					if _, err := fmt.Fprintf(log, "of %d: %d\n", i, n); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	seed := storydice.Seed()
	c := &cutStream{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), address: address, path: "/api/v1/logs?follow=true"}
	var got [3][]string
	lines, begun := 0, false
	c.follow(15_000, func(e sent) bool {
		for !begun || len(printing) < 10 && lines < 3*many {
			begun = true
			printing <- struct{}{}
		}
		if e.kind != "line" {
			if e.kind == "lost" {
				t.Errorf("lost: %s", e.data)
			}
			return false
		}
		var line struct{ Line string }
		if err := json.Unmarshal([]byte(e.data), &line); err != nil {
			t.Errorf("%v: %s", err, e.data)
		}
		var of, n int
		if _, err := fmt.Sscanf(line.Line, "of %d: %d", &of, &n); err == nil {
			got[of] = append(got[of], line.Line)
			lines++
		}
		return lines == 3*many
	})
	close(printing)
	printers.Wait()
	for i := range got {
		for n := range many {
			if len(got[i]) != many || got[i][n] != fmt.Sprintf("of %d: %d", i, n) {
				t.Fatalf("TOSKOSE_TEST_SEED=%d: line %d of %d: %q", seed, n, i, got[i])
			}
		}
	}
	if c.cuts < 10 {
		t.Errorf("it was cut off %d times only", c.cuts)
	}
}

// TestAFollowerOfEventsThatIsCutOffHasEachOnce: the same events in the same order as one
// has that asks for them at the end.
func TestAFollowerOfEventsThatIsCutOffHasEachOnce(t *testing.T) {
	t.Parallel()
	const operations = 60
	l := enliven(t, nil, fakeunit.End{Target: "started"})
	l.calm()
	address, _ := serve(t, l.Handler, httpserver.Options{})
	first := read[eventsPage](l, "/api/v1/events", asJSON).Next
	var operating sync.WaitGroup
	operating.Go(func() {
		for range operations {
			if w := l.ask("POST", push, ""); w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
	})
	seed := storydice.Seed()
	c := &cutStream{T: t, Rand: rand.New(rand.NewPCG(seed, 2)), address: address, path: "/api/v1/events", last: first}
	var got []string
	c.follow(8_000, func(e sent) bool {
		got = append(got, e.id+" "+e.kind)
		return len(got) == 4*operations // start and exit, on two replicas
	})
	operating.Wait()
	var want []string
	for next := first; ; {
		page := read[eventsPage](l, "/api/v1/events?after="+next, asJSON)
		for _, e := range page.Events {
			want = append(want, e.ID+" "+e.Kind)
		}
		if next = page.Next; len(page.Events) == 0 {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("TOSKOSE_TEST_SEED=%d: got\n%s\nwant\n%s", seed, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if c.cuts < 10 {
		t.Errorf("it was cut off %d times only", c.cuts)
	}
}
