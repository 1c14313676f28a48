//go:build skew && record

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// recorded is a request and how it was answered, as e2e/skew reads it.
type recorded struct {
	Method string `json:"method"`
	URI    string `json:"uri"`
	Asked  string `json:"asked,omitempty"`
	Status int    `json:"status"`
	Type   string `json:"type"`
	Answer any    `json:"answer"` // a text, where it is not JSON
}

// TestTheReleaseBeforeIsRecorded writes what Thinking of the release before has on disks and
// says, for e2e/skew: `make contracts`.
func TestTheReleaseBeforeIsRecorded(t *testing.T) {
	t.Parallel()
	s := newSkewed(t, "../examples/thinking", thinkingsPorts)
	t.Cleanup(func() { s.undeploy(t) })
	must(t, "", s.before, s.packaging...)
	must(t, "", s.before, s.deploying(s.dir, "--up")...)
	into := "skew/testdata/contracts"
	if err := os.RemoveAll(into); err != nil {
		t.Fatal(err)
	}

	manager := recording(t, s.manager)
	for _, line := range []string{
		"ps", "goal", "top", "events", "history --printed", "plan --goal api=configured", "logs --tail 3", "run gui stop", "run api configure",
	} {
		words := strings.Fields(line)
		commandWith(t, nil, "", s.before, append([]string{words[0], "--dir", s.dir, "--manager", manager.url}, words[1:]...)...)
	}
	manager.write(t, into, "manager.json")
	_, described := s.askAs(t, "", "", http.MethodGet, "/openapi.json")
	put(t, filepath.Join(into, "openapi.json"), described.raw)

	backend := s.container(t, "backend")
	inspected, err := s.engine.ContainerInspect(t.Context(), backend)
	if err != nil {
		t.Fatal(err)
	}
	var unit *recorder
	for _, network := range inspected.NetworkSettings.Networks {
		unit = recording(t, "http://"+network.IPAddress+":9001")
	}
	password := strings.TrimSpace(read(t, filepath.Join(s.dir, "secrets", "backend-password")))
	eventually(t, "the unit keeps the goal that leaves gui alone", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, unit.server+"/documents/goal", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("admin", password)
		_, text := send(t, req)
		return bytes.Contains(text, []byte(`"holds"`))
	})
	for _, uri := range []string{"/instance", "/components?processes=true", "/journal?wait=0s&after=now", "/journal?wait=0s", "/executions/unknown", "/documents/goal"} {
		unit.ask(t, http.MethodGet, uri, "", "admin", password)
	}
	unit.ask(t, http.MethodPost, "/executions", `{"component": "api", "operation": "Standard.configure", "by": "admin"}`, "admin", password)
	unit.ask(t, http.MethodPost, "/logs", `{"logs": [{"process": "api:start", "stream": "stdout"}], "last": 1}`, "admin", password)
	unit.write(t, into, "unit.json")

	docker := found(t, "docker")
	for container, paths := range map[string][]string{
		// Add /toskose/unit/container.json, and read it in e2e/skew, once the release before writes it.
		backend:                           {"/toskose/unit/supervisord.conf", "/toskose/state/journal", "/toskose/documents"},
		s.container(t, "toskose-manager"): {"/toskose/manager/app.json", "/toskose/manager/toskose.yml"},
	} {
		for _, path := range paths {
			must(t, "", docker, "cp", container+":"+path, filepath.Join(into, filepath.Base(path)))
		}
	}
	if err := os.CopyFS(filepath.Join(into, "packaged"), os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	must(t, into, "/bin/sh", "-c", "chmod -R u=rwX,go=rX .")
}

// recorder stands between those who ask and a server.
type recorder struct {
	url, server string

	mu  sync.Mutex
	all []*recorded
}

func recording(t *testing.T, server string) *recorder {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{server: server}
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }, FlushInterval: -1}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(asked))
		noting := &noted{ResponseWriter: w, recorded: recorded{Method: req.Method, URI: req.URL.RequestURI(), Asked: string(asked)}}
		proxy.ServeHTTP(noting, req)
		if json.Valid(noting.text.Bytes()) {
			noting.Answer = json.RawMessage(noting.text.Bytes())
		} else {
			noting.Answer = noting.text.String()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = append(r.all, &noting.recorded)
	}))
	t.Cleanup(front.Close)
	r.url = front.URL
	return r
}

// noted keeps what is answered.
type noted struct {
	http.ResponseWriter
	recorded
	text bytes.Buffer
}

func (n *noted) WriteHeader(status int) {
	n.Status, n.Type = status, n.Header().Get("Content-Type")
	n.ResponseWriter.WriteHeader(status)
}

func (n *noted) Write(b []byte) (int, error) {
	n.text.Write(b)
	return n.ResponseWriter.Write(b)
}

func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }

func (r *recorder) ask(t *testing.T, method, uri, body, user, password string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+uri, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(user, password)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if status, text := send(t, req); status == 0 {
		t.Fatalf("%s %s: %s", method, uri, text)
	}
}

func (r *recorder) write(t *testing.T, dir, name string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	text, err := json.MarshalIndent(r.all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, name), string(text)+"\n")
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
