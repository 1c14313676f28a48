package kubernetes_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/kubernetes"
)

// documents is what kustomize makes of an output folder, by `Kind/name`.
func documents(t *testing.T, dir string) map[string]map[string]any {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, r := range made.Resources() {
		data, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		var o map[string]any
		if err := yaml.Unmarshal(data, &o); err != nil {
			t.Fatal(err)
		}
		all[r.GetKind()+"/"+r.GetName()] = o
	}
	return all
}

func TestBelowALevelAnApplicationHasTheSameObjects(t *testing.T) {
	t.Parallel()
	p := plan(t, sample.App(), config.Config{})
	plain := documents(t, packaged(t, p, defaults(), false))
	opts := defaults()
	opts.Under = "asset/line-1-robot-1"
	dir := packaged(t, p, opts, false)
	below := documents(t, dir)
	application := below["Application/my-shop"]
	delete(below, "Application/my-shop")
	spec := application["spec"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"kind": "Asset", "name": "line-1-robot-1"}, spec["upper"]); diff != "" {
		t.Errorf("the upper resource (-want +got):\n%s", diff)
	}
	for _, c := range spec["components"].([]any) {
		w := c.(map[string]any)["workload"].(map[string]any)
		metadata := w["metadata"].(map[string]any)
		metadata["namespace"] = "my-shop" // the operator makes it in the application's namespace
		w["apiVersion"] = "apps/v1"
		below[w["kind"].(string)+"/"+metadata["name"].(string)] = w
	}
	labels := below["Namespace/my-shop"]["metadata"].(map[string]any)["labels"].(map[string]any)
	if labels["toskose.io/levels"] != "enabled" {
		t.Errorf("levels may not write into the application's namespace, whose labels are %v", labels)
	}
	delete(labels, "toskose.io/levels")
	if diff := cmp.Diff(plain, below); diff != "" {
		t.Errorf("-without a level +below one:\n%s", diff)
	}
	info, err := kubernetes.ReadInfo(dir)
	if err != nil || info.Under != opts.Under {
		t.Errorf("the folder's application is below %q: %v", info.Under, err)
	}
}

func TestAtTheTopAnApplicationHasNoUpperResource(t *testing.T) {
	t.Parallel()
	opts := defaults()
	opts.Under = "system"
	application := documents(t, packaged(t, plan(t, sample.App(), config.Config{}), opts, false))["Application/my-shop"]
	data, err := json.Marshal(application)
	if err != nil || bytes.Contains(data, []byte(`"upper"`)) {
		t.Errorf("it is %s: %v", data, err)
	}
}

func TestAnUpperResourceIsAKindAndAName(t *testing.T) {
	t.Parallel()
	for _, under := range []string{"asset", "/robot", "asset/", "Asset/robot", "asset/Robot", "asset/a/b", "asset/" + strings.Repeat("r", 254)} {
		opts := defaults()
		opts.Under = under
		if err := opts.Validate(); err == nil || !strings.HasPrefix(err.Error(), "--under ") {
			t.Errorf("%q: the error is %v", under, err)
		}
	}
}
