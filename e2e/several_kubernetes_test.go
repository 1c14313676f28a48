//go:build kubernetes

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/freeport"
)

// TestTwoCopiesOfAnApplicationShareACluster runs Thinking on Kubernetes beside a copy of it,
// from the same archive, copies its data there, and takes the copy away by its name.
func TestTwoCopiesOfAnApplicationShareAClusterOnKubernetes(t *testing.T) {
	first, _ := onCluster(t, "kubernetes")
	second := copyOf(t, first, "--target", "kubernetes")
	second.setPort(t, fmt.Sprint(freeport.Find(t)))
	loaded(t, second)
	for _, app := range []*application{first, second} {
		claimed(t, app.name, "dbvolume")
		t.Cleanup(func() { kubectl(t, "delete", "namespace", app.name, "--ignore-not-found", "--timeout=2m") })
		must(t, "", "toskose", "deploy", "--timeout", patience, app.dir)
		forward(t, app.name, "service/toskose-manager", strings.TrimPrefix(app.manager, "http://127.0.0.1:"))
		forward(t, app.name, "service/frontend-public", fmt.Sprint(app.ports["gui_port"]))
		must(t, "", "toskose", "up", "--dir", app.dir, "--timeout", patience)
	}
	shareIn(t, first, "of the first")
	if strings.Contains(thoughts(t, second), "of the first") {
		t.Error("the second has what was shared in the first")
	}
	bothAreListed(t, "kubernetes", first, second)
	theDataIsCopied(t, first, second)
	for _, app := range []*application{first, second} {
		if left := kubectl(t, "-n", app.name, "get", "pods", "-l", "io.toskose.copies", "-o", "name"); left != "" {
			t.Errorf("what has copied is left: %s", left)
		}
	}
	withoutItsApplication(t, second)
	elsewhere := t.TempDir()
	r := must(t, elsewhere, "toskose", "undeploy", "--volumes", "--images", "--namespace", second.name, second.name)
	if left := second.images(t); len(left) > 0 || !strings.Contains(r.stdout, "images stay on the machines of the cluster") {
		t.Errorf("the images %q are left: %v", left, r)
	}
	if len(first.images(t)) == 0 {
		t.Error("the images of the first are gone")
	}
	if left := kubectl(t, "get", "namespace", second.name, "--ignore-not-found"); left != "" {
		t.Errorf("it leaves %s", left)
	}
	if !strings.Contains(thoughts(t, first), "of the first") {
		t.Error("the first has lost what was shared")
	}
}

// withoutItsApplication backs up the volume of an application that runs no more, and deploys
// the application again.
func withoutItsApplication(t *testing.T, app *application) {
	t.Helper()
	must(t, "", "toskose", "undeploy", app.dir)
	file := filepath.Join(t.TempDir(), "later.tar")
	if r := must(t, "", "toskose", "volume", "backup", app.dir, file); !strings.Contains(r.stdout, file+" has dbvolume of "+app.name) {
		t.Errorf("the backup: %v", r)
	}
	must(t, "", "toskose", "deploy", "--timeout", patience, app.dir)
}
