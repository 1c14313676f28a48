package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/cmd/toskose/cli"
)

// printing is a manager of an application that has printed, executed and used something.
type printing struct {
	mu    sync.Mutex
	asked []string
	looks int
}

const printed = `{"time": "2026-11-22T12:00:00.5Z", "node": "backend", "replica": "10.0.0.1:9001", "component": "api", "operation": "Standard.start", "stream": "stdout", "line": "%s"}`

func (p *printing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	query := r.URL.Query()
	switch r.URL.Path {
	case "/api/v1/app":
		_, _ = io.WriteString(w, `{"nodes": [{"name": "backend"}], "components": [{"name": "api", "node": "backend", "operations": [{"name": "Standard.start"}], "replicas": [{"address": "10.0.0.1:9001"}]}]}`)
	case "/api/v1/logs":
		p.asked = append(p.asked, r.URL.RawQuery)
		p.page(w, r)
	case "/api/v1/executions":
		p.asked = append(p.asked, r.URL.RawQuery)
		_, _ = io.WriteString(w, `{"executions": [{"id": "x1", "node": "backend", "component": "api", "interface": "Standard", "operation": "start", "by": "ann", "outcome": "failed", "started": "2026-11-22T12:00:00Z",
			"runs": [{"replica": "10.0.0.1:9001", "outcome": "failed", "exit_code": 7, "started": "2026-11-22T12:00:00Z", "ended": "2026-11-22T12:00:01.5Z"}]}],
			"missing": [{"node": "frontend", "replica": "10.0.0.2:9001", "why": "it sleeps"}]}`)
	case "/api/v1/node":
		p.looks++
		p.asked = append(p.asked, query.Encode())
		fmt.Fprintf(w, `[{"name": "backend", "replicas": [{"address": "10.0.0.1:9001", "unclaimed": [{"pid": 9, "command": "sh", "cpu_seconds": 0, "memory_bytes": 512}]}], "components": [{"name": "api", "replicas": [
			{"address": "10.0.0.1:9001", "state": "started", "processes": [{"pid": 7, "command": "api", "cpu_seconds": %d, "memory_bytes": 3145728}, {"pid": 8, "command": "api", "cpu_seconds": 2, "memory_bytes": 1048576}]}]}]}]`, 60*p.looks)
	case "/api/v1/series":
		p.asked = append(p.asked, query.Encode())
		_, _ = io.WriteString(w, `{"at": ["2026-11-22T12:00:00Z", "2026-11-22T12:00:15Z", "2026-11-22T12:00:30Z"], "components": [{"name": "api", "cpu_percent": [null, 80, 10], "memory_bytes": [1048576, 2097152, 2097152], "restarts": [0, 0, 2], "states": ["created", "started", "started"]}]}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (p *printing) page(w http.ResponseWriter, r *http.Request) {
	lines := []string{fmt.Sprintf(printed, "one"), fmt.Sprintf(printed, `two\u001b[2J`), fmt.Sprintf(printed, "three")}
	if r.URL.Query().Get("follow") == "" {
		from := 0
		if r.URL.Query().Get("after") != "" {
			from = 2
		}
		to := min(from+2, len(lines))
		if r.URL.Query().Get("after") == "p3" {
			from, to = 0, 0
		}
		fmt.Fprintf(w, `{"lines": [%s], "notes": [{"kind": "lost", "node": "backend", "component": "api", "why": "5 bytes were rotated away"}], "next": "p%d"}`, strings.Join(lines[from:to], ","), to)
		return
	}
	var from int // each connection gives a line
	_, _ = fmt.Sscanf(r.Header.Get("Last-Event-ID"), "p%d", &from)
	w.Header().Set("Content-Type", "text/event-stream")
	if from < len(lines) {
		fmt.Fprintf(w, "id: p%d\nevent: line\ndata: %s\n\nid: p9\nevent: line\nda", from+1, lines[from])
		return
	}
	_, _ = io.WriteString(w, ": still here\n\n")
	_ = http.NewResponseController(w).Flush()
	p.mu.Unlock()
	<-r.Context().Done()
	p.mu.Lock()
}

func TestLogsHistoryAndTop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, asked, says string }{
		{"logs", "limit=1000\nafter=p2&limit=1000\nafter=p3&limit=1000", "api:Standard.start | one\napi:Standard.start | two\ufffd[2J\n"},
		{"logs api backend/api/start --tail 5 --stderr --grep ^t --replica r1 --no-prefix", "limit=1000&match=%5Et&of=api&of=backend%2Fapi%2Fstart&replica=r1&stream=stderr&tail=5", "\none\n"},
		{"logs --since 2026-11-22T12:00:00Z --until 2026-11-22T13:00:00Z --tail 1 -t", "limit=1000&since=2026-11-22T12%3A00%3A00Z&tail=1&until=2026-11-22T13%3A00%3A00Z", "2026-11-22T12:00:00.500Z api:Standard.start | one"},
		{"logs --tail 1", "limit=1000&tail=1", "api: 5 bytes were rotated away"},
		{"logs --tail 1 -o json", "limit=1000&tail=1", `{"kind":"lost"`},
		{"history", "limit=20&output=false", "Standard.start   ann   10.0.0.1:9001   failed    7      1.5s"},
		{"history", "limit=20&output=false", "executions on 10.0.0.2:9001 of frontend are missing: it sleeps"},
		{"history api/start -n 3 --by goal --outcome failed -o json", "by=goal&component=api&limit=3&operation=start&outcome=failed&output=true", `"exit_code": 7`},
		{"top --interval 1ms", "processes=true\nprocesses=true", "2m2s"},
		{"top --since 10m", "component=api&since=600", "api         started    █▁                        10.0   80.0   ▄██      2.0 MiB   2.0 MiB   2"},
		{"top backend --since 1h -o json", "component=api&since=3600", `"restarts"`},
		{"top backend --interval 1ms -o json", "processes=true\nprocesses=true", `"memory_bytes": 4194304`},
	} {
		p := &printing{}
		server := httptest.NewServer(p)
		var out bytes.Buffer
		code := run(t.Context(), append(strings.Fields(c.args), "--dir", packagedFolder(t), "--manager", server.URL), environment{out: &out, err: &out})
		server.Close()
		if asked := strings.Join(p.asked, "\n"); code != cli.ExitOK || asked != c.asked || !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: exit %d, asked %s\n%s", c.args, code, asked, out.String())
		}
	}
	for args, says := range map[string]string{
		"logs --since yesterday": "neither a time", "logs --follow --until 1m": "exclude each other", "logs --tail -2": "not a number of lines", "logs --grep (": "missing closing )",
		"history a b": "arguments given", "history -n 0": "not a number of executions", "top --interval 0s": "is not positive", "top --since 2h": "is not from 1s to 1h", "top --since 1m -f": "exclude each other",
	} {
		var out bytes.Buffer
		if code := run(t.Context(), append(strings.Fields(args), "--dir", packagedFolder(t)), environment{out: &out, err: &out}); code != cli.ExitUsage || !strings.Contains(out.String(), says) {
			t.Errorf("%s: exit %d\n%s", args, code, out.String())
		}
	}
}

// until is where a command prints, which is interrupted once it has printed something.
type until struct {
	mu    sync.Mutex
	text  strings.Builder
	what  string
	times int // that it has to be there, at least once
	end   context.CancelFunc
}

func (u *until) String() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.text.String()
}

// await waits until it was printed.
func (u *until) await(ctx context.Context, t *testing.T) {
	t.Helper()
	for !strings.Contains(u.String(), u.what) {
		select {
		case <-ctx.Done():
			t.Fatalf("there is no %q in\n%s", u.what, u.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (u *until) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n, err := u.text.Write(p)
	if strings.Count(u.text.String(), u.what) >= max(u.times, 1) {
		u.end()
	}
	return n, err
}

func TestFollowedLogsComeBackAndEndWithAnInterrupt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&printing{})
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &until{what: `"three"`, end: cancel}
	code := run(ctx, []string{"logs", "-f", "-o", "json", "--dir", packagedFolder(t), "--manager", server.URL}, environment{out: out, err: io.Discard})
	var lines []string
	for text := range strings.Lines(out.text.String()) {
		var line struct{ Line string }
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Error(err)
		}
		lines = append(lines, line.Line)
	}
	if got := strings.Join(lines, ";"); code != cli.ExitOK || got != "one;two\x1b[2J;three" {
		t.Errorf("exit %d: %q", code, got)
	}
	again, interrupt := context.WithTimeout(t.Context(), time.Minute)
	defer interrupt()
	table := &until{what: "NODE", end: interrupt}
	if code := run(again, []string{"top", "-f", "--interval", "1ms", "--dir", packagedFolder(t), "--manager", server.URL}, environment{out: table, err: io.Discard}); code != cli.ExitOK {
		t.Errorf("top: exit %d: %s", code, table.text.String())
	}
}
