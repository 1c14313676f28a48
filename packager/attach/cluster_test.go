package attach

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/spec"
)

const pods = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, team: shop}}
    spec:
      containers:
        - {name: proxy, image: "postgres:16"}
        - name: main
          image: shop/web
          args: [supervisord, -n, -c, /etc/web.conf]
          env: [{name: PATH, value: /usr/bin}, {name: HOST, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
          ports: [{containerPort: 9002}]
          volumeMounts: [{name: x, mountPath: /x}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "postgres:16"}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: worker, namespace: shop}
spec:
  template:
    metadata: {labels: {app: worker}}
    spec: {containers: [{name: worker, image: shop_worker, command: [/entry]}]}
`

// newCluster is a bench whose manifests are given.
func newCluster(t *testing.T, manifests string) *bench {
	t.Helper()
	b := newBench(t, shopImages(), nil)
	b.dir += "-toskose"
	b.opts.Files, b.opts.Version, b.opts.Registry = nil, "1.2.3+dirty", "registry.example.org/team/"
	b.opts.Kustomize = func(context.Context, string) ([]byte, error) { return []byte(manifests), nil }
	return b
}

// attachCluster attaches the workloads of the folder that is called shop.
func (b *bench) attachCluster() (*Result, error) {
	b.t.Helper()
	return Cluster(b.t.Context(), strings.TrimSuffix(b.dir, "-toskose"), b.opts)
}

func TestAKustomizationCopiesTheUnitIntoPodsAndAddsAManager(t *testing.T) {
	t.Parallel()
	for golden, tls := range map[string]bool{"pods": false, "pods-tls": true} {
		b := newCluster(t, pods)
		b.opts.TLS = tls
		r, err := b.attachCluster()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"kustomization.yaml", "manager.yaml", "patches/web.yaml"} {
			sample.Golden(t, filepath.Join(golden, name), []byte(b.read(name)))
		}
		sample.Golden(t, "pods/app.json", []byte(b.read("app.json")))
		want := []Finding{
			{Service: "web", Image: "shop/web", Attached: true, Supervisord: []string{"/usr/bin/supervisord"}, Port: 9003, arch: "amd64", Notes: r.Services[0].Notes},
			{Service: "db", Image: "postgres:16", Reason: "no supervisord in its image", arch: "amd64"},
			{Service: "worker", Image: "shop_worker", Attached: true, Supervisord: []string{"/usr/bin/supervisord"}, Port: 9001, arch: "amd64"},
		}
		if diff := cmp.Diff(want, r.Services, cmp.AllowUnexported(Finding{})); diff != "" {
			t.Error(diff)
		}
		if r.Namespace != "shop" || len(r.Images) != 2 || r.Images[0].Image != "registry.example.org/team/toskose-unit:1.2.3-dirty" {
			t.Errorf("%+v", r)
		}
		if text := b.read("images/toskose-unit/Dockerfile"); !strings.Contains(text, "COPY toskose-unit /toskose/unit/toskose-unit\nUSER 65532:65532\n") {
			t.Errorf("the unit's image is built by\n%s", text)
		}
		before := b.modified()
		if _, err := b.attachCluster(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, b.modified()); diff != "" {
			t.Errorf("an unchanged file was written: %s", diff)
		}
	}
}

// TestAWorkloadWithoutSupervisordIsANode that others can require, and whose pods the manager finds by a Service.
func TestAWorkloadWithoutSupervisordIsANode(t *testing.T) {
	t.Parallel()
	b := newCluster(t, pods)
	b.opts.Exclude = []string{"worker"}
	b.write(filepath.Join(strings.TrimSuffix(b.dir, "-toskose"), ConfigFile), "requires: {web/app: [db, worker]}\n")
	if _, err := b.attachCluster(); err != nil {
		t.Fatal(err)
	}
	app, err := spec.Decode([]byte(b.read("app.json")))
	if err != nil {
		t.Fatal(err)
	}
	var nodes []string
	for _, n := range app.Nodes {
		nodes = append(nodes, n.Name+" "+n.Alias)
		if attached := n.Name == "web"; (n.Attached != nil) != attached || (n.Unit != nil) != attached {
			t.Errorf("node %s: %+v, unit %+v", n.Name, n.Attached, n.Unit)
		}
	}
	if diff := cmp.Diff([]string{"web toskose-web", "db toskose-db", "worker toskose-worker"}, nodes); diff != "" {
		t.Error(diff)
	}
	if text := b.read("manager.yaml"); !strings.Contains(text, "  name: toskose-worker\nspec:\n  clusterIP: None\n  selector:\n    app: worker\n") {
		t.Errorf("the manager cannot find the pods of worker:\n%s", text)
	}
}

func TestManifestsThatCannotBeAttachedAreRefused(t *testing.T) {
	t.Parallel()
	deployment := func(name, namespace, image string) string {
		return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec: {template: {spec: {containers: [{name: x, image: " + image + "}]}}}\n"
	}
	for name, tt := range map[string]struct {
		manifests string
		change    func(*Options)
		want      string
	}{
		"a missing image":    {deployment("web", "a", "gone"), nil, `workload "web": cannot get image "gone": there is none: get it with ` + "`docker pull gone`, or leave the workload out with --exclude web"},
		"two of a name":      {deployment("web", "a", "x") + deployment("web", "a", "x"), nil, `two workloads have the name "web": rename one`},
		"two namespaces":     {deployment("web", "a", "x") + deployment("api", "b", "x"), nil, `"api" is in namespace "b", and others are in "a": attach each namespace on its own`},
		"the manager's name": {deployment(Manager, "a", "x"), nil, `workload "toskose-manager" has the name of the manager`},
		"an unknown name":    {deployment("web", "a", "x"), func(o *Options) { o.Exclude = []string{"wep"} }, `no workload is named "wep" (did you mean "web"?)`},
		"no YAML":            {"a: [", nil, "the manifests in "},
		"another kind":       {"kind: Deployment\nspec: 1\n", nil, "the manifests in "},
		"nothing to attach":  {deployment("db", "a", "\"postgres:16\""), nil, ErrNothing.Error()},
		"no kustomization": {"", func(o *Options) {
			o.Kustomize = func(context.Context, string) ([]byte, error) { return nil, errors.New("no kustomization") }
		}, "which must have a kustomization.yaml that lists them: no kustomization"},
		"a folder in it": {"", func(o *Options) { o.Output = filepath.Join(o.Output, "shop", "inside") }, "as one is in the other: name another folder with --output"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCluster(t, tt.manifests)
			if tt.change != nil {
				b.opts.Output = filepath.Dir(b.dir)
				tt.change(&b.opts)
				if b.opts.Output == filepath.Dir(b.dir) {
					b.opts.Output = ""
				}
			}
			if _, err := b.attachCluster(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if _, err := os.Stat(b.dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder was written: %v", err)
			}
		})
	}
}

func TestDetachReadsAKustomization(t *testing.T) {
	t.Parallel()
	b := newCluster(t, pods)
	if _, err := b.attachCluster(); err != nil {
		t.Fatal(err)
	}
	a, err := Read(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	restore, remove := a.Restore()
	want := [][]string{
		{"kubectl", "apply", "-k", strings.TrimSuffix(b.dir, "-toskose")},
		{"kubectl", "delete", "deployment,service,configmap,secret", "-l", "app.kubernetes.io/managed-by=toskose-attach", "--namespace", "shop"},
		{"rm", "-r", b.dir},
	}
	if diff := cmp.Diff(want, append(restore, remove...)); diff != "" {
		t.Error(diff)
	}
	b.write(filepath.Join(b.dir, "other", kustomization), "resources: [../x]\n")
	if _, err := Read(filepath.Join(b.dir, "other")); err == nil || !strings.Contains(err.Error(), "was not written by toskose attach") {
		t.Errorf("of another folder: %v", err)
	}
}
