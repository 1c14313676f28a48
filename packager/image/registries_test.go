package image_test

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/internal/engine"
)

// loggedIn has Docker's configuration hold a password for a registry.
func loggedIn(t *testing.T, host, user, password string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"auths": {"`+host+`": {"auth": "`+auth+`"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
}

// failingTwice answers the first two manifests that are put with a failure.
func failingTwice(failed *atomic.Int32) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") && failed.Add(1) <= 2 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func TestAWrongPasswordIsRefusedInOneMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, locked("team", "secret-word"))
	plan := w.plan()
	plan.Images[0].RegistryPassword = "another-word"
	err := w.buildPlan(plan, script, nil)
	for _, want := range []string{w.host, "401", "docker login " + w.host} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "another-word") {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

// The environment is the process's, so this test is not parallel.
func TestAnImageIsPushedByWhoIsLoggedIn(t *testing.T) {
	w := newWorld(t, locked("ada", "secret-word"))
	loggedIn(t, w.host, "ada", "secret-word")
	if err := w.build(func(o *image.Options) { o.Keychain = authn.DefaultKeychain }); err != nil {
		t.Fatal(err)
	}
	loggedIn(t, w.host, "ada", "another-word")
	if err := w.build(func(o *image.Options) { o.Keychain = authn.DefaultKeychain }); err == nil || !strings.Contains(err.Error(), "refuses") {
		t.Errorf("with another password: %v", err)
	}
}

// This test is not parallel for the same reason.
func TestTheEnginePushesTheBuiltImages(t *testing.T) {
	var failed atomic.Int32
	b := newBench(t)
	w := newWorld(t, func(next http.Handler) http.Handler {
		return locked("ada", "secret-word")(failingTwice(&failed)(next))
	})
	plan := b.plan()
	plan.Images[0].Name = w.host + "/team/api:1"
	engine.Remove(t, b.Client, plan.Images[0].Name)
	push := func(o *image.Options) {
		o.Push, o.Keychain, o.Retry = true, authn.DefaultKeychain, time.Millisecond
	}
	loggedIn(t, w.host, "ada", "another-word")
	err := b.build(plan, script, push)
	if err == nil || !strings.Contains(err.Error(), `cannot push image "`+plan.Images[0].Name+`-`) || !strings.Contains(err.Error(), "`docker login "+w.host+"`") || strings.Contains(b.said.String(), "trying again") {
		t.Errorf("with another password: %v, said %s", err, &b.said)
	}
	loggedIn(t, w.host, "ada", "secret-word")
	if err := b.build(plan, script, push); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.said.String(), "trying again") {
		t.Errorf("it was not tried again: %s", &b.said)
	}
	img, err := remote.Image(w.ref("team/api"), remote.WithAuth(basic("ada", "secret-word")))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
}
