package kubernetes_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	kubespec "k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/spec"
)

// schemas are Kubernetes' own, for each kind, with what they refer to in them.
// kyaml reads its schemas once and has no lock, so this has.
var schemas = struct {
	sync.Mutex
	of map[string]*kubespec.Schema
}{of: map[string]*kubespec.Schema{}}

func schemaOf(t *testing.T, apiVersion, kind string) *kubespec.Schema {
	t.Helper()
	schemas.Lock()
	defer schemas.Unlock()
	if known := schemas.of[apiVersion+kind]; known != nil {
		return known
	}
	found := openapi.SchemaForResourceType(kyaml.TypeMeta{APIVersion: apiVersion, Kind: kind})
	if found == nil {
		t.Fatalf("Kubernetes has no %s of %s", kind, apiVersion)
	}
	whole := expanded(t, *found.Schema)
	schemas.of[apiVersion+kind] = &whole
	return &whole
}

// expanded puts what a schema refers to into it, and takes no property that it
// does not name.
func expanded(t *testing.T, s kubespec.Schema) kubespec.Schema {
	t.Helper()
	if s.Ref.String() != "" {
		to, err := openapi.Resolve(&s.Ref, openapi.Schema())
		if err != nil {
			t.Fatal(err)
		}
		return expanded(t, *to)
	}
	if s.Format == "int-or-string" { // the schema calls it a string
		s.Type, s.Format = nil, ""
	}
	if len(s.Properties) > 0 {
		s.Properties = maps.Clone(s.Properties)
		for name, p := range s.Properties {
			s.Properties[name] = expanded(t, p)
		}
		s.AdditionalProperties = &kubespec.SchemaOrBool{Allows: false}
	} else if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		values := expanded(t, *s.AdditionalProperties.Schema)
		s.AdditionalProperties = &kubespec.SchemaOrBool{Allows: true, Schema: &values}
	}
	if s.Items != nil && s.Items.Schema != nil {
		items := expanded(t, *s.Items.Schema)
		s.Items = &kubespec.SchemaOrArray{Schema: &items}
	}
	return s
}

// invalid says what Kubernetes' schemas have against a manifest.
func invalid(t *testing.T, text string) []string {
	t.Helper()
	var o map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &o); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	version, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	result := validate.NewSchemaValidator(schemaOf(t, version, kind), nil, kind, strfmt.Default).Validate(o)
	var said []string
	for _, err := range result.Errors {
		said = append(said, err.Error())
	}
	slices.Sort(said)
	return said
}

// many are applications that have between them all that a manifest may say.
func many() map[string]func() (*spec.Application, config.Config) {
	three, two := 3, 2
	return map[string]func() (*spec.Application, config.Config){
		"the sample": func() (*spec.Application, config.Config) { return sample.App(), config.Config{} },
		"Compose's words": func() (*spec.Application, config.Config) {
			return sample.App(), config.Config{Nodes: map[string]config.Node{"backend": {Deploy: config.Deploy{
				Replicas: &three,
				Resources: config.Resources{
					Limits: config.Amounts{CPUs: "1.5", Memory: "512M"}, Reservations: config.Amounts{Memory: "1gb"},
				},
				Placement: config.Placement{
					Constraints: []string{"node.labels.disk == ssd", "node.role!=manager"},
					Preferences: []config.Preference{{Spread: "node.labels.zone"}},
				},
				UpdateConfig: config.Update{Parallelism: &two, Order: "start-first", Delay: "1m"},
				Labels:       map[string]string{"team": "1"},
			}}}}
		},
		"shared volumes": func() (*spec.Application, config.Config) {
			app := sample.App()
			app.Nodes[1].Storage = []spec.Storage{{Volume: "dbvolume", Location: "/shared"}}
			app.Volumes[0].Options = map[string]string{"size": "5Gi"}
			return app, config.Config{}
		},
		"values that look like others": func() (*spec.Application, config.Config) {
			app := sample.App()
			app.Nodes[0].Env = map[string]string{"A": "true", "B": "1", "C": "", "D": "null", "E": "2001-01-01", "F": "a: b # c"}
			return app, config.Config{}
		},
	}
}

// plans are those of many, of the sample that has everything, and of the
// archives.
func plans(t *testing.T) map[string]*packager.Plan {
	t.Helper()
	all := map[string]*packager.Plan{}
	for name, of := range many() {
		app, cfg := of()
		all[name] = plan(t, app, cfg)
	}
	for name, a := range sample.Archives(t, "../..") {
		all[name] = planned(t, a.App, a.Archive, config.Config{})
	}
	app, cfg := sample.Everything()
	all["everything"] = planned(t, app, sample.Archive(), cfg)
	return all
}

func planned(t *testing.T, app *spec.Application, archive fs.FS, cfg config.Config) *packager.Plan {
	t.Helper()
	p, err := packager.New(app, archive, cfg, packager.Options{AllowHost: []string{"/"}, Version: "1.2.3", TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryManifestIsValidByKubernetesOwnSchemasAndHoldsNoSecret(t *testing.T) {
	t.Parallel()
	for name, p := range plans(t) {
		for level, user := range map[string]string{"root": "", "a user": "1000:1000"} {
			for _, external := range []bool{false, true} {
				dir := packaged(t, by(user, p), defaults(), external)
				if looked := sample.Hidden(t, dir); looked == 0 && !external {
					t.Errorf("%s: it has no secrets", name)
				}
				files, err := filepath.Glob(filepath.Join(dir, kubernetes.Folder, "*.yaml"))
				if err != nil || len(files) < len(p.Services)+1 {
					t.Fatalf("%q, %v", files, err)
				}
				for _, file := range files {
					for _, text := range strings.Split(string(read(t, file)), "\n---\n") {
						if said := invalid(t, text); len(said) > 0 {
							t.Errorf("%s, as %s: %s is not valid:\n%s", name, level, filepath.Base(file), strings.Join(said, "\n"))
						}
					}
				}
			}
		}
	}
}

func TestTheSchemasFindWhatIsWrong(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(filepath.Join("testdata", "node-frontend.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	deployment, _, _ := strings.Cut(string(good), "\n---\n")
	for old, changed := range map[string]string{
		"replicas: 1":       "replicas: one",
		"  selector:":       "  selektor:",
		"containerPort: ":   "hostIP: ",
		"failureThreshold:": "failures:",
	} {
		if !strings.Contains(deployment, old) {
			t.Fatalf("the manifest has no %q", old)
		}
		if said := invalid(t, strings.Replace(deployment, old, changed, 1)); len(said) == 0 {
			t.Errorf("%q for %q is valid", changed, old)
		}
	}
}
