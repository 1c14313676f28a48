package kubernetes_test

import (
	"context"
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/packager/attach"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/image/source"
)

// oneImage is an image that all containers have, with supervisord.
type oneImage struct{}

func (oneImage) Architecture(context.Context) (string, error) { return runtime.GOARCH, nil }

func (oneImage) OnEngine(context.Context, ...string) string { return "" }

func (i oneImage) Inspect(_ context.Context, _, arch string, use func(*image.Contents) error) error {
	return use(&image.Contents{Architecture: arch, Command: []string{"supervisord"}, Files: i})
}

func (oneImage) Stat(_ context.Context, name string) (source.File, error) {
	if name != "/usr/bin/supervisord" {
		return source.File{}, fs.ErrNotExist
	}
	return source.File{Path: name, Mode: 0o755}, nil
}

func (oneImage) Read(context.Context, string, int64) ([]byte, error) { return []byte("#!"), nil }

func (oneImage) List(context.Context, string) ([]string, error) { return nil, fs.ErrNotExist }

const attached = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers: [{name: first, image: first}]
      containers:
        - name: main
          image: shop/web
          env: [{name: HOST, value: here}]
          volumeMounts: [{name: data, mountPath: /data}]
      volumes: [{name: data, emptyDir: {}}]
`

// TestAnAttachedWorkloadKeepsWhatItHad builds the kustomization on top of the user's, strictly.
func TestAnAttachedWorkloadKeepsWhatItHad(t *testing.T) {
	t.Parallel()
	dir, binaries := filepath.Join(t.TempDir(), "shop"), t.TempDir()
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	unit, err := os.ReadFile(testunit.Shipped(t))
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{
		filepath.Join(dir, "kustomization.yaml"): []byte("namePrefix: my-\nresources: [web.yaml]\n"), filepath.Join(dir, "web.yaml"): []byte(attached),
		filepath.Join(binaries, "toskose-unit"): unit, filepath.Join(binaries, "toskose-manager"): unit,
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opts := attach.Options{
		Port: attach.DefaultPort, TLS: true, Version: "1.2.3", Binaries: []string{binaries}, Images: oneImage{}, Random: rand.Reader, Now: time.Now(),
		Kustomize: func(_ context.Context, dir string) ([]byte, error) {
			made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
			if err != nil {
				return nil, err
			}
			return made.AsYaml()
		},
	}
	r, err := attach.Cluster(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	all := built(t, r.Folder)
	pod := get[*appsv1.Deployment](t, all, "Deployment/my-web").Spec.Template.Spec
	c := pod.Containers[0]
	has := func(name string) bool {
		return slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name })
	}
	if len(pod.Containers) != 1 || c.Image != "shop/web" || !has("HOST") || !has("TOSKOSE_UNIT_LISTEN") || len(c.VolumeMounts) != 4 || len(pod.Volumes) != 4 {
		t.Errorf("the container is %+v, with %+v", c, pod.Volumes)
	}
	if len(pod.InitContainers) != 2 || !slices.ContainsFunc(pod.InitContainers, func(c corev1.Container) bool { return c.Image == "first" }) {
		t.Errorf("init containers %+v", pod.InitContainers)
	}
	for _, v := range pod.Volumes {
		if v.Secret != nil && all["Secret/"+v.Secret.SecretName] == nil {
			t.Errorf("there is no Secret %s", v.Secret.SecretName)
		}
	}
	manager := get[*appsv1.Deployment](t, all, "Deployment/toskose-manager").Spec.Template.Spec
	for _, v := range manager.Volumes {
		if v.Secret != nil && all["Secret/"+v.Secret.SecretName] == nil || v.ConfigMap != nil && all["ConfigMap/"+v.ConfigMap.Name] == nil {
			t.Errorf("there is no object for the volume %+v", v)
		}
	}
	if s := get[*corev1.Service](t, all, "Service/toskose-my-web").Spec; s.ClusterIP != corev1.ClusterIPNone || s.Selector["app"] != "web" || !s.PublishNotReadyAddresses {
		t.Errorf("the Service of the pods: %+v", s)
	}
}
