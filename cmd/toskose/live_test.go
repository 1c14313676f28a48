package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/toskose/toskose/cmd/toskose/cli"
)

// managed is a manager that reaches a goal when it was asked for twice.
type managed struct {
	mu    sync.Mutex
	asked []string
	looks int
}

// load is a task, which has failed when it was asked for once.
func (m *managed) load() string {
	phase := "retrying"
	if m.looks++; m.looks > 1 {
		phase = "failed"
	}
	return `{"name": "load", "node": "backend", "state": "configured", "replicas": [{"address": "10.0.0.1:9001", "state": "configured"}], "task":
		{"phase": "` + phase + `", "completions": 5, "completed": 3, "failed": 1, "until": "2026-01-01T00:00:00Z", "exit_code": 9, "reason": "index 1 failed 4 times",
		"indexes": [{"index": 1, "phase": "failed", "attempts": 4, "exit_code": 9}]}}`
}

func (m *managed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	goal := map[string]any{
		"acting": true, "revision": "1-a", "by": "admin", "state": "up", "wanted": 3, "reached": 1,
		"underway":  []any{map[string]any{"component": "load", "operation": map[string]string{"interface": "Task", "operation": "run"}, "part": map[string]any{"index": 2}}},
		"obstacles": []any{map[string]any{"component": "gui", "reason": "start failed\x1b[2J", "until": "2026-01-01T00:00:05Z"}, map[string]any{"component": "web", "waits": true, "reason": "start waits"}},
	}
	switch {
	case r.URL.Path == "/api/v1/app":
		_, _ = io.WriteString(w, `{"nodes": [{"name": "store", "state": "running"}], "components":
			[{"name": "api", "node": "backend", "state": "running", "replicas": [{"address": "10.0.0.1:9001", "state": "running", "why": "start succeeded"}]},
			`+m.load()+`]}`)
		return
	case r.URL.Path == "/api/v1/app/plan":
		unknown := `[]`
		if name := regexp.MustCompile(`gul|apo`).FindString(string(body)); name != "" {
			unknown = `["` + name + `"]`
		}
		_, _ = io.WriteString(w, `{"targets": {"load": "completed"}, "unknown": `+unknown+`}`)
		return
	case r.URL.Path == "/api/v1/node/backend/load":
		_, _ = io.WriteString(w, m.load())
		return
	case r.Method != http.MethodGet:
		m.asked = append(m.asked, r.Method+" "+r.URL.Path+" "+string(body))
	default:
		if m.looks++; m.looks > 1 {
			goal["done"], goal["reached"], goal["underway"], goal["obstacles"] = true, 3, nil, nil
		}
	}
	_ = json.NewEncoder(w).Encode(goal)
}

// packagedFolder is as much of a packaged application as says where its manager is.
func packagedFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"docker-compose.yml":       "x-toskose: {app: shop, manager: {port: 10000, user: admin}}\n",
		"secrets/manager-password": "pw\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestGoalsFromTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args  string
		asked string
		says  string
		code  int
	}{
		{"up", `PUT /api/v1/app/goal {"state":"up"}`, "1 of 3 up; load:Task.run[2]; gui: start failed", cli.ExitOK},
		{"down gui", `PATCH /api/v1/app/goal {"states":{"gui":"down"}}`, "3 of 3 up", cli.ExitOK},
		{"down gul", "", "has no component, container or group \"gul\"; it has api, load, store", cli.ExitUsage},
		{"up apo", "", "did you mean \"api\"?", cli.ExitUsage},
		{"wait apo --for up", "", "did you mean \"api\"?", cli.ExitUsage},
		{"goal apo=up", "", "did you mean \"api\"?", cli.ExitUsage},
		{"goal gui=configured", `PATCH /api/v1/app/goal {"states":{"gui":"configured"}}`, "3 of 3", cli.ExitOK},
		{"goal resume api", `POST /api/v1/app/goal/resume {"components":["api"]}`, "3 of 3", cli.ExitOK},
		{"goal", "", "all components: up\n1 of 3 components", cli.ExitOK},
		{"goal gui", "", `"gui" is not of the form NAME=STATE`, cli.ExitUsage},
		{"ps", "", "backend   api         running", cli.ExitOK},
		{"ps -o wide", "", "backend   api         10.0.0.1:9001   running      -       0          start succeeded", cli.ExitOK},
		{"ps -o yaml", "", "\n  - name: api\n    type: \"\"\n    node: backend\n", cli.ExitOK},
		{"ps too much", "", "2 arguments given", cli.ExitUsage},
		{"ps load", "", "load: retrying, 3 of 5, 1 failed, next try now\nINDEX   PHASE", cli.ExitOK},
		{"ps api", "", `component "api" is not a task`, cli.ExitFailed},
		{"run load --again", `POST /api/v1/app/tasks/load/run {"again":true}`, `task "load" has failed: index 1 failed 4 times`, 9},
		{"run api", "", "is not a task: name the OPERATION", cli.ExitUsage},
		{"run api start --again", "", "--again is for a task", cli.ExitUsage},
		{"wait load --for completed", "", `task "load" has failed`, 9},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			m := &managed{}
			server := httptest.NewServer(m)
			t.Cleanup(server.Close)
			var out bytes.Buffer
			code := run(t.Context(), append(strings.Fields(c.args), "--dir", packagedFolder(t), "--manager", server.URL), environment{out: &out, err: &out})
			if code != c.code || !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), "\x1b") || strings.Join(m.asked, "\n") != c.asked {
				t.Errorf("exit %d, asked %q:\n%s", code, m.asked, out.String())
			}
		})
	}
}

// TestWhoIsNoManagerIsTold asks where there is no manager, or another's.
func TestWhoIsNoManagerIsTold(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	server.Close()
	denying := httptest.NewServer(server.Config.Handler)
	t.Cleanup(denying.Close)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	t.Cleanup(other.Close)
	folder := packagedFolder(t)
	for _, c := range []struct {
		args []string
		says string
		code int
	}{
		{[]string{"up", "--dir", t.TempDir()}, "was not packaged by toskose", cli.ExitFailed},
		{[]string{"plan"}, "--dir or --context of a running application", cli.ExitUsage},
		{[]string{"plan", "--from", "api=created"}, "--from goes with a FILE only", cli.ExitUsage},
		{[]string{"plan", "--dir", folder, "app.yaml"}, "goes without FILE", cli.ExitUsage},
		{[]string{"plan", folder}, "plan --dir " + folder + "` plans for it", cli.ExitUsage},
		{[]string{"ps", "--dir", folder, "--manager", server.URL}, "refused; `toskose deploy` runs the application of the folder", cli.ExitFailed},
		{[]string{"events", "--follow", "--dir", folder, "--manager", server.URL}, "the manager does not answer at http://127.0.0.1:", cli.ExitFailed},
		{[]string{"ps", "--dir", folder, "--manager", denying.URL}, "refuses the password", cli.ExitFailed},
		{[]string{"ps", "--dir", folder, "--manager", other.URL}, "is no manager", cli.ExitFailed},
		{[]string{"restart", "--dir", folder}, "0 arguments given", cli.ExitUsage},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), c.args, environment{out: &out, err: &out}); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%q: exit %d, want %d and %q:\n%s", c.args, code, c.code, c.says, out.String())
		}
	}
}
