//go:build kubernetes

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestThinkingIsUpgradedAndRolledBackOnKubernetes goes through three versions of Thinking.
// Their images are brought to the nodes by TOSKOSE_LOAD.
func TestThinkingIsUpgradedAndRolledBackOnKubernetes(t *testing.T) {
	engine := dockerEngine(t)
	if err := bases(); err != nil {
		t.Fatalf("the base images are missing: %v", err)
	}
	app := prepare(t, engine, "../examples/thinking", thinkingsPorts, func(string) string { return "" }, "--target", "kubernetes")
	claimed(t, app.name, "dbvolume")
	t.Cleanup(func() { kubectl(t, "delete", "namespace", app.name, "--ignore-not-found", "--timeout=2m") })
	var once sync.Once
	goThroughReleases(t, app, surroundings{
		services: true,
		packaged: func(step *testing.T) {
			loaded(step, app)
			if kubectl(step, "get", "namespace", app.name, "--ignore-not-found") == "" {
				return // nothing runs yet
			}
			if said := must(step, "", "toskose", "diff", app.dir).stdout; !strings.Contains(said, "from release ") || !strings.Contains(said, " replaced ") {
				step.Errorf("it does not differ from what runs:\n%s", said)
			}
		},
		deployed: func(step *testing.T) {
			once.Do(func() { // forwarded until the whole test ends
				forward(t, app.name, "service/toskose-manager", strings.TrimPrefix(app.manager, "http://127.0.0.1:"))
				forward(t, app.name, "service/backend-public", fmt.Sprint(app.ports["api_port"]))
			})
			eventually(step, "the forwarded port leads to the manager that was deployed", func() bool {
				status, _ := app.ask(step, http.MethodGet, "/api/v1/app")
				return status == http.StatusOK
			})
		},
	})
}
