package e2e

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/internal/freeport"
)

// TestMakeDemoShowsTheApplicationAndMakeDemoDownLeavesNothing is not parallel
// with any other test, for these use the same base images.
func TestMakeDemoShowsTheApplicationAndMakeDemoDownLeavesNothing(t *testing.T) {
	engine := dockerEngine(t)
	if _, err := os.Stat("../build/demo"); err == nil {
		t.Skip("the demo is deployed from this very checkout; make demo-down first")
	}
	must(t, "..", "/usr/bin/env", "make", "build")
	version := strings.Fields(must(t, "..", "bin/toskose", "--version").stdout)[1]
	before := demo(t, engine, version)
	ports := map[string]int{}
	args := []string{"demo"}
	for _, name := range []string{"GUI_PORT", "API_PORT", "LOG_PORT", "MANAGER_PORT"} {
		ports[name] = freeport.Find(t)
		args = append(args, fmt.Sprintf("%s=%d", name, ports[name]))
	}
	if inSwarm(t, engine) {
		args = append(args, "TOSKOSE_FLAGS=--endpoint-mode dnsrr --publish-mode host")
	}
	t.Cleanup(func() { must(t, "..", "/usr/bin/env", "make", "demo-down") })
	r := must(t, "..", "/usr/bin/env", append([]string{"make"}, args...)...)
	made := demo(t, engine, version)
	if !made["image toskose-unit:"+version] || len(made) < len(before)+5 {
		t.Errorf("what the demo made is not seen: %v", made)
	}

	for name, path := range map[string]string{"GUI_PORT": "", "LOG_PORT": "", "MANAGER_PORT": "/docs"} {
		url := fmt.Sprintf("http://localhost:%d%s", ports[name], path)
		if !strings.Contains(r.stdout, url) {
			t.Errorf("the demo does not say %s", url)
		}
		eventually(t, url+" answers", func() bool {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			status, _ := send(t, request)
			return status == http.StatusOK
		})
	}
	// What it says to try: kill api, which comes back; stop it, and resume the goal.
	_, try, _ := strings.Cut(r.stdout, "Thinking is up.")
	for _, b := range docs.Of(t, docs.Shell) {
		if line := regexp.MustCompile(`(?m)^docker exec .*`).FindString(b.Text); b.Page == "README.md" && !strings.Contains(try, line) {
			t.Errorf("the README has another command than the demo: %s", line)
		}
	}
	said, tried := "", 0
	for line := range strings.Lines(try) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "docker ") || strings.HasPrefix(line, "bin/toskose ") {
			tried++
			said = must(t, "..", "/bin/sh", "-c", line).stdout
		}
	}
	if tried != 7 || !strings.Contains(said, "3 of 3 up") {
		t.Errorf("of %d commands that the demo says to try the last prints\n%s", tried, said)
	}
	if again := command(t, "..", "/usr/bin/env", append([]string{"make"}, args...)...); again.code == 0 || !strings.Contains(again.stderr, "make demo-down") {
		t.Errorf("a second demo over the first: %v", again)
	}

	must(t, "..", "/usr/bin/env", "make", "demo-down")
	for thing := range demo(t, engine, version) {
		if !before[thing] {
			t.Errorf("make demo-down leaves %s", thing)
		}
	}
	for thing := range made { // a volume without a name was known by the container that had it
		volume, is := strings.CutPrefix(thing, "volume ")
		if _, err := engine.VolumeInspect(t.Context(), volume); is && !before[thing] && err == nil {
			t.Errorf("make demo-down leaves %s", thing)
		}
	}
	if _, err := os.Stat("../build/demo"); err == nil {
		t.Error("make demo-down leaves build/demo")
	}
}
