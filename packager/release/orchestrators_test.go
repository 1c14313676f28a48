package release_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	stack "github.com/docker/cli/cli/compose/loader"
	stacktypes "github.com/docker/cli/cli/compose/types"
	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/release"
)

// decisive are, of each container of a folder, what makes a target replace it where it
// differs. The manager's has the name of its service.
var decisive = map[release.Target]func(t *testing.T, dir string) map[string]string{
	release.Compose: byCompose, release.Swarm: bySwarm, release.Kubernetes: byKubernetes,
}

// replacedBy returns which containers a target replaces, of those that are decided by what is
// given, for those of a folder.
func replacedBy(t *testing.T, target release.Target, from map[string]string, to string) (names []string) {
	t.Helper()
	for name, now := range decisive[target](t, to) {
		if was, ok := from[name]; ok && was != now {
			names = append(names, name)
		}
	}
	if target == release.Compose {
		names = append(names, ended(t, to, names)...)
	}
	slices.Sort(names)
	return names
}

// ended are the jobs that come after what is replaced: Compose 1 replaces what depends on
// that and has ended (compose/project.py, _get_convergence_plans).
func ended(t *testing.T, dir string, replaced []string) (names []string) {
	t.Helper()
	for name, s := range project(t, dir).Services {
		after := func(other string) bool { _, ok := s.DependsOn[other]; return ok }
		if s.Labels[packager.LabelJob] != "" && !slices.Contains(replaced, name) && slices.ContainsFunc(replaced, after) {
			names = append(names, name)
		}
	}
	return names
}

// project loads what a folder has for Compose.
func project(t *testing.T, dir string) *types.Project {
	t.Helper()
	loading.Lock()
	defer loading.Unlock()
	p, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir: "/srv", ConfigFiles: []types.ConfigFile{{Filename: "/srv/" + compose.LocalFile, Content: file(t, dir, compose.LocalFile)}},
	}, func(o *loader.Options) {
		o.SetProjectName("shop", true)
		o.SkipValidation = true // packager/compose has that
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// loading is held while Compose's loader runs: it keeps what it has warned of in a variable
// of its package.
var loading sync.Mutex

func encoded(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// byCompose is what Compose 2 has a digest of (docker/compose, pkg/compose/hash.go), and
// what Compose 1 has beside that (compose/service.py, config_dict): the dependencies.
func byCompose(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, s := range project(t, dir).Services {
		s.PullPolicy, s.Scale = "", nil
		if s.Deploy != nil {
			s.Deploy.Replicas = nil
		}
		all[name] = encoded(t, s)
	}
	return all
}

// bySwarm is what a task and the endpoint of a service are made of (swarmkit, IsTaskDirty),
// but for its place, which alone replaces it where its machine does not suit.
func bySwarm(t *testing.T, dir string) map[string]string {
	t.Helper()
	parsed, err := stack.ParseYAML(file(t, dir, compose.SwarmFile))
	if err != nil {
		t.Fatal(err)
	}
	c, err := stack.Load(stacktypes.ConfigDetails{WorkingDir: "/srv", ConfigFiles: []stacktypes.ConfigFile{{Filename: compose.SwarmFile, Config: parsed}}})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, s := range c.Services {
		made := []any{}
		for _, v := range s.Volumes { // the volume is made by the task
			made = append(made, c.Volumes[v.Source])
		}
		for _, secret := range s.Secrets {
			made = append(made, c.Secrets[secret.Source].Name)
		}
		s.DependsOn = nil
		s.Deploy = stacktypes.DeployConfig{Resources: s.Deploy.Resources, RestartPolicy: s.Deploy.RestartPolicy, EndpointMode: s.Deploy.EndpointMode}
		all[s.Name] = encoded(t, append(made, s))
	}
	return all
}

// byKubernetes is a workload's kind, namespace and pods; a Job's name, as no Job changes; and
// the Secrets whose names end in a digest of what they hold.
func byKubernetes(t *testing.T, dir string) map[string]string {
	t.Helper()
	var k struct {
		Namespace string
		Secrets   []struct {
			Name    string
			Files   []string
			Options map[string]any
		} `yaml:"secretGenerator"`
	}
	if err := yaml.Unmarshal(file(t, dir, kubernetes.Kustomization), &k); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "kubernetes", "node-*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, path := range paths {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct{ Template any }
		}
		if err := yaml.Unmarshal(file(t, path), &o); err != nil { // the first of several
			t.Fatal(err)
		}
		pod := encoded(t, o.Spec.Template)
		for _, s := range k.Secrets {
			if s.Options["disableNameSuffixHash"] != true && strings.Contains(pod, `{"secret":{"name":"`+s.Name+`"}}`) {
				pod += string(file(t, dir, s.Files[0]))
			}
		}
		made := []any{o.Kind, k.Namespace, pod}
		if o.Kind == "Job" {
			made = append(made, o.Metadata.Name)
		}
		all[strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "node-"), ".yaml")] = encoded(t, made)
	}
	return all
}
