package e2e

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// rotated replaces passwords, certificates and their authority while the application is
// used, and deploys it again: no container is replaced, and nothing is refused but what was
// before.
func rotated(t *testing.T, app *application) {
	t.Helper()
	ids := func() [2]string { return [2]string{app.container(t, "box"), app.container(t, "toskose-manager")} }
	before, password := ids(), app.password
	stop := make(chan struct{})
	var using sync.WaitGroup
	restarts := 0
	using.Go(func() {
		for {
			for _, args := range [][]string{{"restart", "keeper"}, {"ps"}} {
				if r := command(t, "", "toskose", append(args, "--context", app.name)...); r.code != 0 {
					t.Errorf("while secrets are replaced: %v", r)
				}
			}
			restarts++
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for _, args := range [][]string{app.there(app.dir, "rotate"), app.there(app.name, "rotate", "--authority")} {
		r := must(t, "", "toskose", args...)
		if !strings.Contains(r.stdout, "refuse what was before: ") || !strings.Contains(r.stdout, "box-tls.crt") {
			t.Errorf("rotate: %v", r)
		}
	}
	close(stop)
	using.Wait()
	t.Logf("%d restarts meanwhile", restarts)
	app.password = strings.TrimSpace(read(t, filepath.Join(app.dir, "secrets", "manager-password")))
	for given, want := range map[string]string{password: "401", app.password: "200"} {
		r := must(t, "", found(t, "curl"), "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", filepath.Join(app.dir, "secrets", "tls-ca.crt"),
			"-u", "admin:"+given, strings.Replace(app.manager, "http://", "https://", 1)+"/api/v1/app")
		if r.stdout != want {
			t.Errorf("a password is answered with %s, not %s: %v", r.stdout, want, r)
		}
	}
	must(t, "", "toskose", app.deploying(app.dir)...)
	if after := ids(); after != before {
		t.Errorf("containers were replaced: %v, and were %v", after, before)
	}
}
