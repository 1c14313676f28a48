package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

func TestAttachMakesADocumentOfNames(t *testing.T) {
	t.Parallel()
	app, err := attached([]string{"worker", "web"})
	if err != nil || len(app.Nodes) != 2 || app.Nodes[0].Name != "web" || app.Goal != "" {
		t.Fatalf("%+v, %v", app, err)
	}
	if u := app.Nodes[1].Unit; u.Port != 9001 || u.User != "admin" || app.Nodes[1].Attached == nil {
		t.Errorf("%+v", app.Nodes[1])
	}
	for names, says := range map[string]string{"web,web": `node "web" has the name of a node`, "web,": "a node has no name", "../web": "not a name"} {
		if _, err := application(paths{attach: names}); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "--attach "+names) {
			t.Errorf("%s: %v", names, err)
		}
	}
}

func TestAUnitWithoutAPasswordIsRefusedAndNamed(t *testing.T) {
	t.Parallel()
	_, env := image(t)
	if err := os.WriteFile(filepath.Join(env["TOSKOSE_SECRETS"], "web-password"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, logs testunit.Output
	code := run(t.Context(), []string{"--attach", "web,worker"}, get(env), &out, &logs)
	if text := logs.String(); code != 1 || !strings.Contains(text, "node worker: cannot read the secret") || strings.Contains(text, "node web:") {
		t.Errorf("%d: %s", code, text)
	}
	code = run(t.Context(), []string{"--attach", "web", "--app", "x"}, get(env), &out, &logs)
	if code != 2 || !strings.Contains(logs.String(), "--app and --attach exclude each other") {
		t.Errorf("%d: %s", code, logs.String())
	}
}

// TestTheProgramsOfAUnitAreServedAndChangeWithoutARestart of the manager, whose sessions and port stay.
func TestTheProgramsOfAUnitAreServedAndChangeWithoutARestart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the unit")
	}
	t.Parallel()
	const programs = "[program:app]\ncommand=sleep 1000\nstartsecs=0\n"
	u := testunit.RunJoined(t, "unit's", programs)
	_, env := image(t)
	folder := env["TOSKOSE_SECRETS"]
	document, err := spec.Encode(&spec.Application{Name: "shop", Nodes: []spec.Node{{
		Name: "web", Alias: "127.0.0.1", Protocol: protocol.Container(), Attached: &spec.Attached{}, Unit: &spec.Unit{Port: int(u.Addr.Port()), User: "admin"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"web-password": []byte("unit's\n"), "attached.json": document} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var out, logs testunit.Output
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"--app", filepath.Join(folder, "attached.json")}, get(env), &out, &logs)
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("it ended with %d: %s", code, logs.String())
		}
	})
	request := func(method, path string) (status int, body string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:"+env["TOSKOSE_MANAGER_PORT"]+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("admin", "ours")
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err.Error() // it is not serving yet
		}
		defer answer.Body.Close()
		var value any
		if err := json.NewDecoder(answer.Body).Decode(&value); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, fmt.Sprint(value)
	}
	await := func(path, says string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // there is nothing else to wait on
			status, body := request(http.MethodGet, path)
			if status == http.StatusOK && strings.Contains(body, says) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d, %s\n%s", path, status, body, logs.String())
			}
		}
	}
	await("/api/v1/node/web/app", "state:running")
	if status, body := request(http.MethodPost, "/api/v1/node/web/web%2Fapp/restart"); status != http.StatusOK || !strings.Contains(body, "outcome:succeeded") {
		t.Errorf("restart: %d, %s", status, body)
	}
	u.Configure(programs + "[program:later]\ncommand=sleep 1000\nstartsecs=0\n")
	u.Call("supervisor.reloadConfig")
	u.Call("supervisor.addProcessGroup", "later")
	await("/api/v1/node/web/web%2Flater", "name:web/later")
	await("/api/v1/executions", "component:web/app") // of before
}
