package kubernetes_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/spec"
)

func defaults() kubernetes.Options {
	return kubernetes.Options{ServiceType: kubernetes.ServiceNodePort, ClusterDomain: kubernetes.DefaultClusterDomain}
}

// by is a plan whose images run as a user.
func by(user string, p *packager.Plan) *packager.Plan {
	return p.Pinned(func(ref string) (string, string) { return ref, user })
}

func plan(t *testing.T, app *spec.Application, cfg config.Config) *packager.Plan {
	t.Helper()
	p, err := packager.New(app, sample.Archive(), cfg, packager.Options{AllowHost: sample.Host, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// counting is a random source that tests can foresee.
type countingReader struct{ next byte }

func (c *countingReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = c.next
		c.next++
	}
	return len(p), nil
}

// packaged writes an output folder and returns it.
func packaged(t *testing.T, p *packager.Plan, opts kubernetes.Options, external bool) string {
	t.Helper()
	dir := t.TempDir()
	if err := output.Write(dir, p, output.Options{Targets: []output.Target{kubernetes.Target(opts)}, External: external, Random: &countingReader{}, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// objects reads manifests as the API server does that is told to be strict,
// and returns them by `Kind/name`.
func objects(t *testing.T, data []byte) map[string]runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	out := map[string]runtime.Object{}
	documents := k8syaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data)))
	defer documents.Close()
	buf := make([]byte, 1<<20)
	for {
		n, err := documents.Read(buf)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		o, kind, err := decoder.Decode(buf[:n], nil, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, buf[:n])
		}
		name, err := meta.NewAccessor().Name(o)
		if err != nil {
			t.Fatal(err)
		}
		key := kind.Kind + "/" + name
		if out[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		out[key] = o
	}
}

// built is what `kubectl apply -k` sends for an output folder.
func built(t *testing.T, dir string) map[string]runtime.Object {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, data)
}

func read(t *testing.T, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// get returns the object of a kind and the beginning of a name; kustomize adds a
// digest to the names of Secrets.
func get[T runtime.Object](t *testing.T, all map[string]runtime.Object, key string) T {
	t.Helper()
	if o, ok := all[key].(T); ok {
		return o
	}
	t.Fatalf("there is no %s, only %q", key, slices.Sorted(maps.Keys(all)))
	panic("unreachable")
}

func TestTheManifestsAreAsTheyWere(t *testing.T) {
	t.Parallel()
	dir := packaged(t, plan(t, sample.App(), config.Config{}), defaults(), false)
	names, err := filepath.Glob(filepath.Join(dir, "kubernetes", "*.yaml"))
	if err != nil || len(names) != 6 {
		t.Fatalf("%q, %v", names, err)
	}
	for _, name := range append(names, filepath.Join(dir, kubernetes.Kustomization)) {
		data := read(t, name)
		sample.Golden(t, filepath.Base(name), data)
		if filepath.Base(name) != kubernetes.Kustomization {
			objects(t, data)
		}
	}
}

func TestEveryWordArrives(t *testing.T) {
	t.Parallel()
	app, cfg := sample.Everything()
	p, err := packager.New(app, sample.Archive(), cfg, packager.Options{AllowHost: sample.Host, Version: "1.2.3", TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := output.Options{Targets: []output.Target{kubernetes.Target(defaults())}, Random: &countingReader{}, Now: time.Now()}
	if err := output.Write(dir, p, write); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "kubernetes", "*.yaml"))
	if err != nil || len(names) != 7 {
		t.Fatalf("%q, %v", names, err)
	}
	for _, name := range append(names, filepath.Join(dir, kubernetes.Kustomization)) {
		data := read(t, name)
		if bytes.Contains(data, []byte("hush")) {
			t.Errorf("%s holds a secret", name)
		}
		sample.Golden(t, filepath.Join("everything", filepath.Base(name)), data)
	}
	all := built(t, dir)
	secrets := map[string]string{}
	for _, o := range all {
		if s, ok := o.(*corev1.Secret); ok {
			for key, value := range s.Data {
				secrets[key] = string(value)
			}
		}
	}
	for key, want := range map[string]string{
		"api.key": "hush-input", "api.Standard.create.salt": "hush-one and more", "api.Standard.start.salt": "hush-two",
		"backend.DB_PASSWORD": "hush-variable", "My.Queue_.QUEUE_PASSWORD": "hush-standalone", "backend-password": "hush-unit",
	} {
		if secrets[key] != want {
			t.Errorf("the secret %s is %q", key, secrets[key])
		}
	}
	backend := get[*appsv1.Deployment](t, all, "Deployment/backend")
	if diff := cmp.Diff(map[string]string{"team": "shop", "price": "$5", "note": "yes"}, backend.Annotations); diff != "" {
		t.Error(diff)
	}
	if w := strings.Join(kubernetes.Warnings(p, defaults()), "\n"); !strings.Contains(w, `deploy.labels is lost on Kubernetes: "no annotation" cannot be the name of an annotation`) {
		t.Errorf("nothing says that a label is lost:\n%s", w)
	}
}

func TestTheKustomizationMakesTheSecretsThatContainersMount(t *testing.T) {
	t.Parallel()
	dir := packaged(t, plan(t, sample.App(), config.Config{}), defaults(), false)
	all := built(t, dir)
	secrets := map[string]*corev1.Secret{}
	for key, o := range all {
		if s, ok := o.(*corev1.Secret); ok {
			secrets[s.Name] = s
			if s.Namespace != "my-shop" {
				t.Errorf("%s is in namespace %q", key, s.Namespace)
			}
		}
	}
	if len(secrets) != 5 {
		t.Fatalf("%d secrets", len(secrets))
	}
	for node, want := range map[string][]string{
		"backend": {"backend-password"}, "frontend": {"frontend-password"},
		"toskose-manager": {"backend-password", "frontend-password", "manager-password", "manager-secret-key", "manager-users"},
	} {
		var mounted []string
		for _, v := range get[*appsv1.Deployment](t, all, "Deployment/"+node).Spec.Template.Spec.Volumes {
			if v.Projected == nil {
				continue
			}
			for _, source := range v.Projected.Sources {
				secret := secrets[source.Secret.Name]
				if secret == nil {
					t.Fatalf("%s mounts %s, which is not there", node, source.Secret.Name)
				}
				for key, value := range secret.Data {
					mounted = append(mounted, key)
					if !bytes.Equal(value, read(t, dir, "secrets", key)) {
						t.Errorf("%s has another value", key)
					}
				}
			}
		}
		if diff := cmp.Diff(want, mounted); diff != "" {
			t.Errorf("%s: %s", node, diff)
		}
	}
}

func TestNoManifestHoldsASecret(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Manager: config.Manager{Password: "hush-manager"}, Nodes: map[string]config.Node{"backend": {Password: "hush-unit"}}}
	dir := packaged(t, plan(t, sample.App(), cfg), defaults(), false)
	generated := string(read(t, dir, "secrets", "frontend-password"))
	names, err := filepath.Glob(filepath.Join(dir, "kubernetes", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, filepath.Join(dir, kubernetes.Kustomization)) {
		if text := string(read(t, name)); strings.Contains(text, "hush") || strings.Contains(text, generated) {
			t.Errorf("%s holds a secret", name)
		}
	}
}

func TestExternalSecretsAreNamedOnly(t *testing.T) {
	t.Parallel()
	dir := packaged(t, plan(t, sample.App(), config.Config{}), defaults(), true)
	all := built(t, dir)
	for key := range all {
		if strings.HasPrefix(key, "Secret/") {
			t.Errorf("it makes %s", key)
		}
	}
	volumes := get[*appsv1.Deployment](t, all, "Deployment/frontend").Spec.Template.Spec.Volumes
	if name := volumes[0].Projected.Sources[0].Secret.Name; name != "frontend-password" || kubernetes.SecretNames(plan(t, sample.App(), config.Config{}))[name] != name {
		t.Errorf("it mounts %q", name)
	}
}

func TestPodsPullWithTheSecretThatIsNamed(t *testing.T) {
	t.Parallel()
	opts := defaults()
	opts.PullSecret = "registry.key"
	all := built(t, packaged(t, plan(t, sample.App(), config.Config{}), opts, false))
	for _, pod := range []corev1.PodSpec{
		get[*appsv1.Deployment](t, all, "Deployment/frontend").Spec.Template.Spec,
		get[*appsv1.StatefulSet](t, all, "StatefulSet/store").Spec.Template.Spec,
		get[*appsv1.Deployment](t, all, "Deployment/toskose-manager").Spec.Template.Spec,
	} {
		if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "registry.key"}}, pod.ImagePullSecrets); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAVolumeIsWrittenToByOnePodAtATime(t *testing.T) {
	t.Parallel()
	all := built(t, packaged(t, plan(t, sample.App(), config.Config{}), defaults(), false))
	store := get[*appsv1.StatefulSet](t, all, "StatefulSet/store")
	if store.Spec.ServiceName != "store" || store.Spec.Template.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "dbvolume" {
		t.Errorf("%+v", store.Spec)
	}
	claim := get[*corev1.PersistentVolumeClaim](t, all, "PersistentVolumeClaim/dbvolume")
	if diff := cmp.Diff([]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, claim.Spec.AccessModes); diff != "" {
		t.Error(diff)
	}
}

func TestAVolumeOfSeveralContainersMayBeMountedBySeveralNodes(t *testing.T) {
	t.Parallel()
	app := sample.App()
	app.Nodes[1].Storage = []spec.Storage{{Volume: "dbvolume", Location: "/shared"}}
	app.Volumes[0].Options = map[string]string{"size": "5Gi"}
	all := built(t, packaged(t, plan(t, app, config.Config{}), defaults(), false))
	claim := get[*corev1.PersistentVolumeClaim](t, all, "PersistentVolumeClaim/dbvolume")
	if got := claim.Spec.Resources.Requests.Storage().String(); got != "5Gi" || claim.Spec.AccessModes[0] != corev1.ReadWriteMany {
		t.Errorf("%s, %v", got, claim.Spec.AccessModes)
	}
}

func TestADollarSignStaysOne(t *testing.T) {
	t.Parallel()
	app := sample.App()
	app.Nodes[0].Env = map[string]string{"A": "$(MODE) $$ $x", "MODE": "yes"}
	all := built(t, packaged(t, plan(t, app, config.Config{}), defaults(), false))
	for _, v := range get[*appsv1.Deployment](t, all, "Deployment/backend").Spec.Template.Spec.Containers[0].Env {
		if v.Name == "A" && v.Value != "$$(MODE) $$$$ $$x" {
			t.Errorf("%q", v.Value)
		}
	}
	args := get[*appsv1.StatefulSet](t, all, "StatefulSet/store").Spec.Template.Spec.Containers[0].Args
	if diff := cmp.Diff([]string{"redis-server", "--requirepass", "a $$b"}, args); diff != "" {
		t.Error(diff)
	}
}

// allowed reports whether a NetworkPolicy lets a pod with these labels reach a
// port (networking.k8s.io/v1, NetworkPolicySpec).
func allowed(p *networkingv1.NetworkPolicy, from map[string]string, protocol corev1.Protocol, port int32) bool {
	return slices.ContainsFunc(p.Spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
		peer := len(rule.From) == 0 || slices.ContainsFunc(rule.From, func(peer networkingv1.NetworkPolicyPeer) bool {
			for key, value := range peer.PodSelector.MatchLabels {
				if from[key] != value {
					return false
				}
			}
			return true
		})
		return peer && slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool {
			end := p.Port.IntVal
			if p.EndPort != nil {
				end = *p.EndPort
			}
			return *p.Protocol == protocol && port >= p.Port.IntVal && port <= end
		})
	})
}

func TestOnlyTheManagerReachesAUnitAndEverybodyReachesTheRest(t *testing.T) {
	t.Parallel()
	all := built(t, packaged(t, plan(t, sample.App(), config.Config{}), defaults(), false))
	manager := get[*appsv1.Deployment](t, all, "Deployment/toskose-manager").Spec.Template.Labels
	other := get[*appsv1.Deployment](t, all, "Deployment/frontend").Spec.Template.Labels
	p := get[*networkingv1.NetworkPolicy](t, all, "NetworkPolicy/backend")
	if len(p.Spec.Ingress) != 2 || !slices.Equal(p.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) {
		t.Errorf("%+v", p.Spec)
	}
	for key, value := range p.Spec.PodSelector.MatchLabels {
		if get[*appsv1.Deployment](t, all, "Deployment/backend").Spec.Template.Labels[key] != value {
			t.Errorf("it is not for the backend: %s is %s", key, value)
		}
	}
	for _, tt := range []struct {
		from     map[string]string
		protocol corev1.Protocol
		port     int32
		want     bool
	}{
		{manager, corev1.ProtocolTCP, 9002, true},
		{other, corev1.ProtocolTCP, 9002, false},
		{nil, corev1.ProtocolTCP, 9002, false},
		{map[string]string{"app.kubernetes.io/name": "toskose-manager"}, corev1.ProtocolTCP, 9002, false}, // of another application
		{nil, corev1.ProtocolTCP, 9001, true},
		{nil, corev1.ProtocolTCP, 9003, true},
		{nil, corev1.ProtocolTCP, 1, true},
		{nil, corev1.ProtocolTCP, 65535, true},
		{nil, corev1.ProtocolUDP, 9002, true}, // a unit speaks TCP
		{nil, corev1.ProtocolUDP, 53, true},
	} {
		if got := allowed(p, tt.from, tt.protocol, tt.port); got != tt.want {
			t.Errorf("%v to %s %d: %v", tt.from, tt.protocol, tt.port, got)
		}
	}
}

func TestPodsPassTheStrictestLevelThatTheirImagesAllow(t *testing.T) {
	t.Parallel()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks())
	if err != nil {
		t.Fatal(err)
	}
	passes := func(template corev1.PodTemplateSpec, level api.Level) string {
		forbidden := policy.AggregateCheckResults(evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &template.ObjectMeta, &template.Spec))
		return forbidden.ForbiddenDetail()
	}
	app := sample.App()
	app.Nodes[0].Shares = nil
	for name, tt := range map[string]struct {
		user  string
		nodes api.Level
	}{
		"all of them run as somebody":   {"1000:1000", api.LevelRestricted},
		"a user without a group":        {"1000", api.LevelRestricted},
		"root":                          {"0:0", api.LevelBaseline},
		"nothing is known of the image": {"", api.LevelBaseline},
		"a name, which may be anybody":  {"redis", api.LevelBaseline},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := built(t, packaged(t, by(tt.user, plan(t, app, config.Config{})), defaults(), false))
			if got := get[*corev1.Namespace](t, all, "Namespace/my-shop").Labels[api.EnforceLevelLabel]; got != string(tt.nodes) {
				t.Errorf("the namespace enforces %q", got)
			}
			for _, node := range []string{"Deployment/backend", "Deployment/frontend"} {
				if why := passes(get[*appsv1.Deployment](t, all, node).Spec.Template, tt.nodes); why != "" {
					t.Errorf("%s does not pass %s: %s", node, tt.nodes, why)
				}
			}
			if why := passes(get[*appsv1.StatefulSet](t, all, "StatefulSet/store").Spec.Template, tt.nodes); why != "" {
				t.Errorf("store does not pass %s: %s", tt.nodes, why)
			}
			if why := passes(get[*appsv1.Deployment](t, all, "Deployment/toskose-manager").Spec.Template, api.LevelRestricted); why != "" {
				t.Errorf("the manager does not pass restricted: %s", why)
			}
		})
	}
}

// TestOpenShiftAssignsUsersAndGroups: the manifests name none, and a pod that needs no root still says so.
func TestOpenShiftAssignsUsersAndGroups(t *testing.T) {
	t.Parallel()
	opts := defaults()
	opts.OpenShift = true
	for user, nonRoot := range map[string]bool{"1000:2000": true, "0": false} {
		all := built(t, packaged(t, by(user, plan(t, sample.App(), config.Config{})), opts, false))
		for _, name := range []string{"backend", "frontend", "toskose-manager"} {
			pod := get[*appsv1.Deployment](t, all, "Deployment/"+name).Spec.Template.Spec
			if c := pod.SecurityContext; c.RunAsUser != nil || c.RunAsGroup != nil || c.FSGroup != nil {
				t.Errorf("%s, as %s: %+v", name, user, c)
			}
			is := pod.SecurityContext.RunAsNonRoot != nil && *pod.SecurityContext.RunAsNonRoot
			if want := nonRoot || name == "toskose-manager"; is != want {
				t.Errorf("%s, as %s: runAsNonRoot is %t", name, user, is)
			}
		}
	}
}

// TestDocumentsNeedNoClaim: a unit writes to them whoever runs it, and what has
// them alone is no StatefulSet.
func TestDocumentsNeedNoClaim(t *testing.T) {
	t.Parallel()
	for user, want := range map[string]int64{"1000:2000": 2000, "1000": 1000, "0": 0} {
		all := built(t, packaged(t, by(user, plan(t, sample.App(), config.Config{})), defaults(), false))
		for _, node := range []string{"backend", "frontend"} {
			pod := get[*appsv1.Deployment](t, all, "Deployment/"+node).Spec.Template.Spec
			mounts := pod.Containers[0].VolumeMounts
			i := slices.IndexFunc(mounts, func(m corev1.VolumeMount) bool { return m.MountPath == packager.DocumentsPath })
			if i < 0 || mounts[i].ReadOnly {
				t.Fatalf("%s: %+v", node, mounts)
			}
			at := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mounts[i].Name })
			if dir := pod.Volumes[at].EmptyDir; dir == nil || dir.SizeLimit.String() != "1Mi" {
				t.Errorf("%s: %+v", node, pod.Volumes[at])
			}
			if got := pod.SecurityContext.FSGroup; (got == nil) != (want == 0) || got != nil && *got != want {
				t.Errorf("%s, as %s: its volumes are of group %v", node, user, got)
			}
		}
		manager := get[*appsv1.Deployment](t, all, "Deployment/toskose-manager").Spec.Template.Spec
		if len(manager.Volumes) != 1 {
			t.Errorf("the manager has %+v", manager.Volumes)
		}
	}
}

func TestAPathOfTheNodeTakesAPrivilegedNamespaceAndIsWarnedOf(t *testing.T) {
	t.Parallel()
	p := plan(t, sample.App(), config.Config{})
	all := built(t, packaged(t, p, defaults(), false))
	if got := get[*corev1.Namespace](t, all, "Namespace/my-shop").Labels[api.EnforceLevelLabel]; got != string(api.LevelPrivileged) {
		t.Errorf("the namespace enforces %q", got)
	}
	want := []string{
		`container "backend": "/srv/shop" is a path of the node that runs its pod; Kubernetes' baseline for pods refuses that`,
		`volume "dbvolume": Kubernetes gets only the size; driver and other options are up to the storage class`,
	}
	if diff := cmp.Diff(want, kubernetes.Warnings(p, defaults())); diff != "" {
		t.Error(diff)
	}
}

func TestNamesAreValidAndNoTwoTheSame(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	app := &spec.Application{Name: "9 Lives", Nodes: []spec.Node{{Name: "first", Image: spec.Image{Kind: spec.ImageService, Name: "a:1"}}}}
	for _, name := range []string{"My_Node", "my-node", "My.Node", "2nd", long + "1", long + "2", "end-", "first-public"} {
		app.Nodes = append(app.Nodes, spec.Node{Name: name, Image: spec.Image{Kind: spec.ImageService, Name: "a:1"}})
	}
	app.Nodes[0].Ports = []spec.Port{{Container: 80, Host: 8080, Protocol: "tcp"}}
	app.Volumes = []spec.Volume{{Name: "a_b"}, {Name: "a.b"}, {Name: "A"}}
	p := plan(t, app, config.Config{})
	all := built(t, packaged(t, p, defaults(), false))
	counts := map[string]int{}
	for key := range all {
		kind, name, _ := strings.Cut(key, "/")
		counts[kind]++
		if bad := validation.IsDNS1035Label(name); len(bad) > 0 && kind != "Secret" {
			t.Errorf("%s: %q", key, bad)
		}
	}
	want := map[string]int{"Namespace": 1, "Deployment": 10, "Service": 11, "PersistentVolumeClaim": 3, "Secret": 3}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
	get[*corev1.Service](t, all, "Service/my-node")
	env := get[*appsv1.Deployment](t, all, "Deployment/toskose-manager").Spec.Template.Spec.Containers[0].Env
	i := slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == "TOSKOSE_DISCOVERY_NAMES" })
	if i < 0 || !strings.Contains(env[i].Value, "2nd=n-2nd") || strings.Contains(env[i].Value, "my-node=") {
		t.Errorf("%+v", env)
	}
	if warnings := kubernetes.Warnings(p, defaults()); !slices.Contains(warnings, `container "2nd": "2nd" cannot be a name on Kubernetes; clients have to dial "n-2nd"`) {
		t.Errorf("%q", warnings)
	}
}

func TestWhatNoClusterTakesIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []kubernetes.Options{{ServiceType: "nodeport"}, {ServiceType: kubernetes.ServiceClusterIP, Namespace: "Mine"}, {ServiceType: kubernetes.ServiceClusterIP, PullSecret: "my key"}} {
		if err := bad.Validate(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestANamespaceThatIsGivenIsNotMade(t *testing.T) {
	t.Parallel()
	opts := defaults()
	opts.Namespace = "shared"
	all := built(t, packaged(t, plan(t, sample.App(), config.Config{}), opts, false))
	if all["Namespace/shared"] != nil || all["Namespace/my-shop"] != nil {
		t.Error("a namespace is made")
	}
	if got := get[*appsv1.Deployment](t, all, "Deployment/backend").Namespace; got != "shared" {
		t.Errorf("backend is in %q", got)
	}
}

func TestComposesWordsAreTranslated(t *testing.T) {
	t.Parallel()
	three, two := 3, 2
	cfg := config.Config{Nodes: map[string]config.Node{
		"backend": {Deploy: config.Deploy{
			Replicas: &three,
			Resources: config.Resources{
				Limits: config.Amounts{CPUs: "1.5", Memory: "512M"}, Reservations: config.Amounts{Memory: "1gb"},
			},
			Placement: config.Placement{
				Constraints: []string{"node.labels.disk == ssd", "node.role!=manager", "node.platform.arch==x86_64", "engine.labels.x==y"},
				Preferences: []config.Preference{{Spread: "node.labels.zone"}, {Spread: "engine.labels.rack"}},
			},
			RestartPolicy:  config.RestartPolicy{Condition: "on-failure"},
			UpdateConfig:   config.Update{Parallelism: &two, Order: "start-first", Delay: "1m"},
			RollbackConfig: config.Update{Order: "stop-first"},
			Labels:         map[string]string{"team": "shop & co"},
		}},
		"store": {Deploy: config.Deploy{Replicas: new(int)}},
	}}
	p := plan(t, sample.App(), cfg)
	all := built(t, packaged(t, p, defaults(), false))
	d := get[*appsv1.Deployment](t, all, "Deployment/backend")
	pod := d.Spec.Template.Spec
	if *d.Spec.Replicas != 3 || d.Annotations["team"] != "shop & co" || d.Spec.MinReadySeconds != 60 {
		t.Errorf("%+v", d)
	}
	if r := d.Spec.Strategy.RollingUpdate; r.MaxSurge.IntVal != 2 || r.MaxUnavailable.IntVal != 0 {
		t.Errorf("%+v", r)
	}
	r := pod.Containers[0].Resources
	if r.Limits.Cpu().MilliValue() != 1500 || r.Limits.Memory().Value() != 512<<20 || r.Requests.Memory().Value() != 1<<30 {
		t.Errorf("%+v", r)
	}
	want := []corev1.NodeSelectorRequirement{
		{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"}},
		{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.NodeSelectorOpDoesNotExist},
		{Key: "kubernetes.io/arch", Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}},
	}
	got := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(pod.TopologySpreadConstraints) != 1 || pod.TopologySpreadConstraints[0].TopologyKey != "zone" {
		t.Errorf("%+v", pod.TopologySpreadConstraints)
	}
	if n := *get[*appsv1.StatefulSet](t, all, "StatefulSet/store").Spec.Replicas; n != 0 {
		t.Errorf("store has %d replicas", n)
	}
	warnings := strings.Join(kubernetes.Warnings(p, defaults()), "\n")
	for _, lost := range []string{"engine.labels.x==y", "engine.labels.rack", "restart_policy", "rollback_config"} {
		if !strings.Contains(warnings, lost) {
			t.Errorf("nothing says that %s is lost:\n%s", lost, warnings)
		}
	}
}

func TestAServiceHasNoAddresses(t *testing.T) {
	t.Parallel()
	ports := func(all ...string) *packager.Plan {
		return plan(t, sample.App(), config.Config{Nodes: map[string]config.Node{"store": {Ports: all}}})
	}
	p := ports("127.0.0.1:6379:6379", "[::1]:6379:6379")
	public := get[*corev1.Service](t, built(t, packaged(t, p, defaults(), false)), "Service/store-public")
	if len(public.Spec.Ports) != 1 || public.Spec.Ports[0].Port != 6379 {
		t.Errorf("it publishes %+v", public.Spec.Ports)
	}
	if want := `container "store": the address of port 6379 (127.0.0.1) is lost on Kubernetes: a Service publishes it`; !slices.Contains(kubernetes.Warnings(p, defaults()), want) {
		t.Errorf("it warns %q", kubernetes.Warnings(p, defaults()))
	}
	_, err := kubernetes.Target(defaults())(ports("127.0.0.1:80:6379", "[::1]:80:6380"), output.Secrets{})
	want := `container "store": port 80/tcp is published at two addresses for two ports of the container: a Service on Kubernetes has no addresses`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestAnExternalVolumeHasTheNameOfAClaim(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Old_Data":  `volumes.more.name: "Old_Data" is not the name of a claim on Kubernetes: small letters, digits, '-' and '.'`,
		"dbvolume":  `volumes.more.name: "dbvolume" is the claim of the application's volume "dbvolume"`,
		"db.volume": "",
	} {
		app := sample.App()
		app.Volumes = append(app.Volumes, spec.Volume{Name: "more"})
		p := plan(t, app, config.Config{Volumes: map[string]config.Volume{"more": {External: true, Name: name}}})
		got := ""
		if _, err := kubernetes.Target(defaults())(p, output.Secrets{}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("error %q, want %q", got, want)
		}
	}
}

func TestAPatchAddsAndChangesNothing(t *testing.T) {
	t.Parallel()
	patched := func(text string) (*packager.Plan, error) {
		p := plan(t, sample.App(), config.Config{Nodes: map[string]config.Node{"backend": {Kubernetes: config.Kubernetes{Patch: sample.Fragment(text)}}}})
		_, err := kubernetes.Target(defaults())(p, output.Secrets{})
		return p, err
	}
	p, err := patched(`{metadata: {annotations: {note: "1"}}, spec: {minReadySeconds: 5, template: {spec: {shareProcessNamespace: false, volumes: [{name: scratch, emptyDir: {}}],
  initContainers: [{name: prepare, image: busybox, command: ["true"]}],
  containers: [{name: log, image: busybox}, {name: backend, imagePullPolicy: IfNotPresent, resources: {limits: {cpu: 500m}}, volumeMounts: [{name: scratch, mountPath: /scratch}],
    env: [{name: EXTRA, value: "1"}]}]}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	d := get[*appsv1.Deployment](t, built(t, packaged(t, p, defaults(), false)), "Deployment/backend")
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	if d.Annotations["note"] != "1" || d.Spec.MinReadySeconds != 5 || pod.ShareProcessNamespace == nil || len(pod.InitContainers) != 1 || len(pod.Containers) != 2 || pod.Containers[1].Name != "log" {
		t.Errorf("the workload is %+v", d)
	}
	if c.Name != "backend" || c.Resources.Limits.Cpu().String() != "500m" || !slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == "EXTRA" && v.Value == "1" }) ||
		!slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/scratch" }) || c.LivenessProbe == nil {
		t.Errorf("the container is %+v", c)
	}
	const at = "nodes.backend.kubernetes.patch."
	for text, want := range map[string]string{
		"{spec: {replicas: 3}}":                     `toskose.yml:1:51: ` + at + `spec.replicas: Toskose sets it to "1", which a patch cannot change; deploy.replicas of the container does`,
		"{metadata: {name: x}}":                     at + `metadata.name: Toskose sets it to "backend"`,
		"{kind: Pod}":                               at + `kind: Toskose sets it to "Deployment"`,
		"{spec: {selector: {matchLabels: {a: b}}}}": at + "spec.selector: cannot be set: Toskose selects the pods by its own labels",
		"{spec: {template: {spec: {containers: [{name: backend, image: x}]}}}}":                                       at + `spec.template.spec.containers.backend.image: Toskose sets it to "`,
		"{spec: {template: {spec: {containers: [{name: backend, command: [x]}]}}}}":                                   at + "spec.template.spec.containers.backend.command: cannot be set: the image's entrypoint",
		"{spec: {template: {spec: {containers: [{name: web, tty: true}]}}}}":                                          at + `spec.template.spec.containers.web: there is no such container: it is called "backend"; another one needs an image`,
		"{spec: {template: {spec: {containers: [{image: x}]}}}}":                                                      at + "spec.template.spec.containers: an item needs name",
		"{spec: {template: {spec: {containers: [{name: backend, env: [{name: MODE, value: x}]}]}}}}":                  at + `spec.template.spec.containers.backend.env.MODE.value: Toskose sets it to "yes"`,
		"{spec: {template: {spec: {containers: [{name: backend, env: [{name: TOSKOSE_X, value: x}]}]}}}}":             at + "spec.template.spec.containers.backend.env.TOSKOSE_X: the name is reserved for the unit",
		"{spec: {template: {spec: {containers: [{name: backend, volumeMounts: [{name: x, mountPath: /toskose}]}]}}}}": at + `spec.template.spec.containers.backend.volumeMounts./toskose: "/toskose" would hide files`,
		"{spec: {template: {spec: {volumes: [{name: documents, emptyDir: {medium: Memory}}]}}}}":                      at + "spec.template.spec.volumes.documents: Toskose sets this volume",
		"{spec: {template: {spec: {$patch: delete}}}}":                                                                at + "spec.template.spec.$patch: directives of patches are not supported",
	} {
		if _, err := patched(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	both := plan(t, sample.App(), config.Config{Nodes: map[string]config.Node{"store": {Compose: sample.Fragment("{cap_add: [A]}")}}})
	if want := `container "store": compose in toskose.yml is lost on Kubernetes, where kubernetes.patch adds to the workload`; !slices.Contains(kubernetes.Warnings(both, defaults()), want) {
		t.Errorf("it warns %q", kubernetes.Warnings(both, defaults()))
	}
}
