package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// othersMayLess adds a viewer, and removes them: by Compose, where the file of users is
// mounted, each counts at once.
func othersMayLess(t *testing.T, app *application) {
	service := managersService(t, app, "manager")
	info, err := app.engine.ContainerInspect(t.Context(), containerOf(t, app.engine, app.name, service))
	if err != nil {
		t.Fatal(err)
	}
	byCompose := info.Config.Labels["com.docker.compose.service"] != ""
	if h := info.HostConfig; !h.ReadonlyRootfs || !slices.Contains(h.CapDrop, "ALL") || byCompose && !slices.Contains(h.SecurityOpt, "no-new-privileges:true") || info.Config.User != "65532:65532" {
		t.Errorf("the manager's container may more than it needs: read-only %v, without %v, %v, user %q", h.ReadonlyRootfs, h.CapDrop, h.SecurityOpt, info.Config.User)
	}
	if !byCompose {
		othersOnASwarm(t, app)
		return
	}
	password := strings.TrimSpace(must(t, "", "toskose", "user", "add", "ann", "--dir", app.dir).stdout)
	for path, want := range map[string]int{"GET /api/v1/app": http.StatusOK, "POST /api/v1/node/reload": http.StatusForbidden, "POST /api/v1/node/backend/api/stop": http.StatusForbidden} {
		method, path, _ := strings.Cut(path, " ")
		if status, said := app.askAs(t, "ann", password, method, path); status != want {
			t.Errorf("%s %s as a viewer: %d, want %d\n%s", method, path, status, want, said.raw)
		}
	}
	must(t, "", "toskose", "user", "rm", "ann", "--dir", app.dir)
	if status, said := app.askAs(t, "ann", password, http.MethodGet, "/api/v1/app"); status != http.StatusUnauthorized {
		t.Errorf("a user who was removed: %d\n%s", status, said.raw)
	}
}

// othersOnASwarm adds a viewer, and removes them. There each counts when the application
// was packaged and deployed again, which replaces the manager's container and no other.
func othersOnASwarm(t *testing.T, app *application) {
	t.Helper()
	backend := app.container(t, "backend")
	again := func() {
		t.Helper()
		mustWith(t, app.env, "", "toskose", app.packaging...)
		mustWith(t, app.env, "", "toskose", app.deploying(app.dir)...)
	}
	asked := func(password, method, path string, want int) {
		t.Helper()
		eventually(t, fmt.Sprintf("the new manager answers %s %s with %d", method, path, want), func() bool {
			status, _ := app.askAs(t, "ann", password, method, path)
			return status == want
		})
	}
	password := strings.TrimSpace(must(t, "", "toskose", "user", "add", "ann", "--dir", app.dir).stdout)
	again()
	asked(password, http.MethodGet, "/api/v1/app", http.StatusOK)
	asked(password, http.MethodPost, "/api/v1/node/backend/api/stop", http.StatusForbidden)
	must(t, "", "toskose", "user", "rm", "ann", "--dir", app.dir)
	again()
	asked(password, http.MethodGet, "/api/v1/app", http.StatusUnauthorized)
	if r := command(t, "", "toskose", app.there(app.dir, "rotate", "--dry-run")...); r.code != 0 || !strings.Contains(r.stdout, "a swarm's secrets are immutable, so containers are replaced, one service after the other: toskose-manager, backend, frontend, toskose-manager") {
		t.Errorf("rotate: %v", r)
	}
	if now := app.container(t, "backend"); now != backend {
		t.Error("a container of the application was replaced for a user of the manager")
	}
}
