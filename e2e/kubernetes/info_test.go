package kubernetes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
)

func TestAFolderSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	app := sample.App()
	app.Name = "My_Shop"
	opts := defaults()
	want := kubernetes.Info{
		Info: output.Info{
			App: "my_shop", Version: "1.2.3", Nodes: []string{"backend", "frontend"},
			Host:    []packager.HostPath{{Path: "/srv/shop", User: `container "backend" at /etc/shop`}},
			Manager: output.Manager{Service: "toskose-manager", Port: 10000, User: "admin"},
		},
		Namespace: "my-shop", OwnNamespace: true,
		Selector: "app.kubernetes.io/part-of=my-shop,app.kubernetes.io/managed-by=toskose",
	}
	p := plan(t, app, config.Config{})
	dir := packaged(t, p, opts, false)
	got, err := kubernetes.ReadInfo(dir)
	want.App = p.App
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	opts.Namespace, want.Namespace, want.OwnNamespace = "shared", "shared", false
	if got, err = kubernetes.ReadInfo(packaged(t, p, opts, false)); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
	// All that is made has the labels that it selects by.
	for key, o := range built(t, dir) {
		made, err := meta.NewAccessor().Labels(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range strings.Split(want.Selector, ",") {
			if name, value, _ := strings.Cut(pair, "="); made[name] != value {
				t.Errorf("%s has %v", key, made)
			}
		}
	}
}

func TestAFolderThatIsNotToskosesIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for text, says := range map[string]string{
		"":                      "was not packaged by toskose for Kubernetes",
		"resources: [a.yaml]\n": "package the application again",
		"namespace: [":          "cannot read",
		"namespace: a\nmetadata: {name: a, annotations: {io.toskose.info: '{'}}\n": "cannot read the annotation io.toskose.info",
	} {
		if text != "" {
			if err := os.WriteFile(filepath.Join(dir, kubernetes.Kustomization), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if err := os.RemoveAll(filepath.Join(dir, kubernetes.Kustomization)); err != nil {
			t.Fatal(err)
		}
		if _, err := kubernetes.ReadInfo(dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want %s", text, err, says)
		}
	}
}
