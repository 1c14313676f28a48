package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/kubernetes"
)

// screen is what a terminal shows after it was written to, for what is written
// here: lines, and going up to take lines away.
func screen(t *testing.T, written string) string {
	t.Helper()
	var lines []string
	for written != "" {
		if rest, ok := strings.CutPrefix(written, "\x1b["); ok {
			number, rest, _ := strings.Cut(rest, "A\r\x1b[J")
			up := int(number[0] - '0')
			if len(number) != 1 || up > len(lines) {
				t.Fatalf("goes up %s of %d lines", number, len(lines))
			}
			lines, written = lines[:len(lines)-up], rest
			continue
		}
		line, rest, _ := strings.Cut(written, "\n")
		lines, written = append(lines, line), rest
	}
	return strings.Join(lines, "\n")
}

func TestATerminalShowsEachImageInALineOfItsOwn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := &terminalProgress{w: &out, width: 40, now: func() time.Time { now = now.Add(time.Second); return now }}
	tests := []struct {
		event event.Event
		want  string
	}{
		{event.Event{Image: "a", State: event.Packing, Total: 2e6}, "a: packing 2.0 MB"},
		{event.Event{Image: "b", State: event.Pulling, Text: "b: pulling"}, "a: packing 2.0 MB\nb: pulling"},
		{event.Event{Image: "a", State: event.Sending, Done: 5e5, Total: 2e6}, "a: sending, 500.0 KB of 2.0 MB, 25%\nb: pulling"},
		{event.Event{Image: "a", State: event.Building, Step: 3, Steps: 8}, "a: building, step 3 of 8\nb: pulling"},
		{event.Event{Text: "said to all"}, "said to all\na: building, step 3 of 8\nb: pulling"},
		{event.Event{Image: "a", State: event.Built, Text: "a: built"}, "said to all\na: built\nb: pulling"},
		{event.Event{Image: strings.Repeat("long", 20), State: event.Pushing}, "said to all\na: built\nb: pulling\n" + strings.Repeat("long", 20)[:39]},
	}
	for _, tt := range tests {
		p.event(tt.event)
		if got := screen(t, out.String()); got != tt.want {
			t.Errorf("after %+v:\n%s\nwant\n%s", tt.event, got, tt.want)
		}
	}
	p.close()
	if got := screen(t, out.String()); got != "said to all\na: built" {
		t.Errorf("at the end:\n%s", got)
	}
}

func TestATerminalIsNotDrawnForEveryByte(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	p := &terminalProgress{w: &out, width: 80, now: func() time.Time { return now }}
	for i := range 1000 {
		p.event(event.Event{Image: "a", State: event.Sending, Done: int64(i), Total: 1000})
	}
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("drawn %d times at one moment", n)
	}
	p.event(event.Event{Image: "a", State: event.Built, Text: "a: built"})
	if got := screen(t, out.String()); got != "a: built" {
		t.Errorf("what stays waits: %q", got)
	}
}

func TestTheSummaryIsForPeopleAndPrograms(t *testing.T) {
	t.Parallel()
	plan := &packager.Plan{
		App: "shop", Images: []packager.Image{{Name: "shop-api:1"}}, Secrets: []packager.Secret{{Name: "api-password"}},
		Services: []packager.Service{{Name: "toskose-manager", Image: "shop-api:1-0123456789ab", UnitPort: 10000, IsManager: true}},
	}
	targets := &targetFlags{targets: []string{targetAll}, secrets: secretsGenerated, kubernetes: kubernetes.Options{}}
	s := summarise("dir", plan, targets)
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"event":"packaged","application":"shop","path":"dir","images":["shop-api:1-0123456789ab"],`, `{"name":"docker-compose.yml","what":"for Docker Swarm"}`,
		`"next":["toskose deploy dir","toskose deploy --target kubernetes dir","curl --netrc-file dir/secrets/netrc http://localhost:10000/api/v1/node/"]`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %s", data, want)
		}
	}
	var text bytes.Buffer
	s.print(&text)
	if !strings.Contains(text.String(), "\nshop is packaged in dir:\n") || !strings.Contains(text.String(), "\nNext:\n  toskose deploy dir\n") || !strings.Contains(text.String(), "\n  shop-api:1-0123456789ab\n") {
		t.Errorf("it reads\n%s", &text)
	}
	text.Reset()
	summarise("dir", plan, &targetFlags{targets: []string{targetSwarm}, secrets: secretsExternal}).print(&text)
	if !strings.Contains(text.String(), "create these secrets, each from a FILE with its value:\n  docker secret create shop_api-password FILE\n\nNext:\n  toskose deploy dir\n") {
		t.Errorf("with external secrets it reads\n%s", &text)
	}
}
