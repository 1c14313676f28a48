package compose_test

import (
	"context"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	stack "github.com/docker/cli/cli/compose/loader"
	stacktypes "github.com/docker/cli/cli/compose/types"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/spec"
)

// hostile is the sample with values that a reader of Compose files may take
// for something else, and with every word of deploy.
func hostile(t *testing.T) *packager.Plan {
	t.Helper()
	app := sample.App()
	app.Nodes[0].Env = map[string]string{
		"A": "$HOME ${HOME:-x} $$ $(id)", "B": "yes", "C": "007", "D": "null", "E": "a: b # c", "F": "line\nbreak\ttab", "G": "", "H": "1e3",
		"SECRET": "hush", "I": "'\"\\",
	}
	app.Nodes[2].Command = `redis-server --save "" --requirepass '$PASS ${X}' yes 010`
	app.Nodes[2].Shares = []spec.Share{{Container: "/etc/a b", Host: "/srv/$x/a:b"}}
	two := 2
	update := config.Update{Parallelism: &two, Order: "start-first", Delay: "10s", Monitor: "1m", FailureAction: "pause"}
	deploy := config.Deploy{
		Replicas: &two,
		Resources: config.Resources{
			Limits: config.Amounts{CPUs: "0.5", Memory: "512M"}, Reservations: config.Amounts{CPUs: "0.25", Memory: "1gb"},
		},
		Placement: config.Placement{
			Constraints: []string{"node.labels.disk == $ssd"}, Preferences: []config.Preference{{Spread: "node.labels.zone"}},
		},
		RestartPolicy: config.RestartPolicy{Condition: "on-failure", Delay: "5s", MaxAttempts: &two, Window: "1m0s"},
		UpdateConfig:  update, RollbackConfig: update, Labels: map[string]string{"price": "$5"},
	}
	p, err := packager.New(app, sample.Archive(), config.Config{
		Nodes:   map[string]config.Node{"backend": {Alias: "backend.alias", Deploy: deploy}, "store": {Deploy: deploy}},
		Volumes: map[string]config.Volume{"dbvolume": {Driver: "local", DriverOpts: map[string]string{"device": "$dev", "o": "size=1m"}}},
		Secrets: []string{"backend.SECRET"},
	}, packager.Options{AllowHost: sample.Host, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// packagedFor returns the Compose files of an output folder, for a Swarm and for
// a single engine over that.
func packagedFor(t *testing.T, p *packager.Plan, opts compose.Options, external bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := output.Write(dir, p, output.Options{Targets: []output.Target{compose.Target(opts)}, External: external, Random: &countingReader{}, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// loading is held while Compose's loader runs: it keeps what it has warned of
// in a variable of its package.
var loading sync.Mutex

// project loads files as `docker compose` does.
func project(t *testing.T, dir string, names ...string) *types.Project {
	t.Helper()
	details := types.ConfigDetails{WorkingDir: dir, Environment: types.Mapping{"HOME": "/root", "x": "seen", "ssd": "seen"}}
	for _, name := range names {
		details.ConfigFiles = append(details.ConfigFiles, types.ConfigFile{Filename: filepath.Join(dir, name)})
	}
	loading.Lock()
	defer loading.Unlock()
	p, err := loader.LoadWithContext(context.Background(), details, func(o *loader.Options) { o.SetProjectName("shop", true) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDockerComposeReadsWhatThePlanSays(t *testing.T) {
	t.Parallel()
	plan := hostile(t)
	dir := packagedFor(t, plan, defaults, false)
	for name, files := range map[string][]string{
		"for a swarm": {compose.SwarmFile}, "for one engine": {compose.LocalFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := project(t, dir, files...)
			if len(p.Services) != len(plan.Services) {
				t.Fatalf("%d services", len(p.Services))
			}
			for _, want := range plan.Services {
				got := p.Services[want.Name]
				for key, value := range want.Env {
					if v := got.Environment[key]; v == nil || *v != value {
						t.Errorf("%s: %s is not %q", want.Name, key, value)
					}
				}
				if diff := cmp.Diff(want.Command, []string(got.Command)); diff != "" {
					t.Errorf("%s: %s", want.Name, diff)
				}
				if got.Image != want.Image || len(got.Ports) != len(want.Ports) || len(got.Secrets) != len(want.Secrets) {
					t.Errorf("%s: %+v", want.Name, got)
				}
				if diff := cmp.Diff(want.DependsOn, slices.Sorted(maps.Keys(got.DependsOn))); diff != "" {
					t.Errorf("%s: %s", want.Name, diff)
				}
			}
			store := p.Services["store"]
			if at := store.Volumes[1]; at.Source != "/srv/$x/a:b" || at.Target != "/etc/a b" {
				t.Errorf("%+v", at)
			}
			if d := store.Deploy; *d.Replicas != 2 || d.Labels["price"] != "$5" || d.Placement.Constraints[0] != "node.labels.disk == $ssd" ||
				int64(d.Resources.Limits.MemoryBytes) != 512<<20 || d.UpdateConfig.Order != "start-first" || *d.RestartPolicy.MaxAttempts != 2 {
				t.Errorf("%+v", d)
			}
			if got := p.Volumes["dbvolume"].DriverOpts["device"]; got != "$dev" {
				t.Errorf("the volume's device is %q", got)
			}
		})
	}
}

// stacked loads docker-compose.yml as `docker stack deploy` does.
func stacked(t *testing.T, dir string) *stacktypes.Config {
	t.Helper()
	file, err := stack.ParseYAML([]byte(read(t, dir, compose.SwarmFile)))
	if err != nil {
		t.Fatal(err)
	}
	details := stacktypes.ConfigDetails{
		WorkingDir:  dir,
		ConfigFiles: []stacktypes.ConfigFile{{Filename: compose.SwarmFile, Config: file}},
		Environment: map[string]string{"HOME": "/root", "x": "seen"},
	}
	if dropped := stack.GetUnsupportedProperties(file); len(dropped) > 0 {
		t.Errorf("a stack drops %q", dropped)
	}
	if old := stack.GetDeprecatedProperties(file); len(old) > 0 {
		t.Errorf("a stack warns of %v", old)
	}
	c, err := stack.Load(details)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDockerStackReadsWhatThePlanSays(t *testing.T) {
	t.Parallel()
	plan := hostile(t)
	c := stacked(t, packagedFor(t, plan, defaults, false))
	for _, want := range plan.Services {
		i := slices.IndexFunc(c.Services, func(s stacktypes.ServiceConfig) bool { return s.Name == want.Name })
		if i < 0 {
			t.Fatalf("no service %s", want.Name)
		}
		got := c.Services[i]
		for key, value := range want.Env {
			if v := got.Environment[key]; v == nil || *v != value {
				t.Errorf("%s: %s is not %q", want.Name, key, value)
			}
		}
		if diff := cmp.Diff(want.Command, []string(got.Command)); diff != "" {
			t.Errorf("%s: %s", want.Name, diff)
		}
		if u := got.Deploy.UpdateConfig; u == nil || u.FailureAction == "" {
			t.Errorf("%s: update settings %+v", want.Name, u)
		}
		if diff := cmp.Diff(want.Aliases, got.Networks["toskose"].Aliases); diff != "" {
			t.Errorf("%s: %s", want.Name, diff)
		}
	}
}

// TestWhateverIsWrittenIsLoadedAndHoldsNoSecret: by all loaders, in each way
// that there is.
func TestWhateverIsWrittenIsLoadedAndHoldsNoSecret(t *testing.T) {
	t.Parallel()
	plans := map[string]*packager.Plan{"everything": everything(t), "what looks like something else": hostile(t)}
	for name, a := range sample.Archives(t, "../..") {
		p, err := packager.New(a.App, a.Archive, config.Config{}, packager.Options{AllowHost: []string{"/"}, Version: "1.2.3", TLS: true})
		if err != nil {
			t.Fatal(err)
		}
		plans[name] = p
	}
	encrypted := defaults
	encrypted.Encrypted = true
	for name, p := range plans {
		for _, opts := range []compose.Options{ours, encrypted} {
			for _, external := range []bool{false, true} {
				dir := packagedFor(t, p, opts, external)
				if looked := sample.Hidden(t, dir); looked == 0 && !external {
					t.Errorf("%s: it has no secrets", name)
				}
				if n := len(stacked(t, dir).Services); n != len(p.Services) {
					t.Errorf("%s: a stack has %d services of %d", name, n, len(p.Services))
				}
				for _, files := range [][]string{{compose.SwarmFile}, {compose.LocalFile}} {
					if n := len(project(t, dir, files...).Services); n != len(p.Services) {
						t.Errorf("%s: %q have %d services of %d", name, files, n, len(p.Services))
					}
				}
			}
		}
	}
}

func TestOnlyAnEncryptedNetworkIsOne(t *testing.T) {
	t.Parallel()
	for _, encrypted := range []bool{true, false} {
		opts := defaults
		opts.Encrypted = encrypted
		dir := packagedFor(t, plan(t, config.Config{}), opts, false)
		if _, got := stacked(t, dir).Networks["toskose"].DriverOpts["encrypted"]; got != encrypted {
			t.Errorf("--encrypted=%v gives %v", encrypted, got)
		}
		project(t, dir, compose.LocalFile)
	}
}

func TestExternalSecretsAreNamedOnly(t *testing.T) {
	t.Parallel()
	dir := packagedFor(t, plan(t, config.Config{}), defaults, true)
	for name, s := range stacked(t, dir).Secrets {
		if !s.External.External || s.Name != "my-shop_"+name || s.File != "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestKomposeIsToldWhatItNeedsAndWhatItLosesIsSaid(t *testing.T) {
	t.Parallel()
	p := plan(t, config.Config{})
	for _, s := range stacked(t, packagedFor(t, p, defaults, false)).Services {
		want := "headless"
		if s.Name == p.Manager().Name {
			want = ""
		}
		if got := s.Labels["kompose.service.type"]; got != want {
			t.Errorf("%s: the Service is to be %q", s.Name, got)
		}
	}
	if warnings := compose.Warnings(p); len(warnings) > 0 {
		t.Errorf("%q", warnings)
	}
	want := []string{`kompose drops other names of containers, which --target kubernetes keeps: "api" of container "backend" (dial "backend")`}
	if diff := cmp.Diff(want, compose.Conversion(p)); diff != "" {
		t.Error(diff)
	}
}

func TestServicesHaveNamesThatASwarmTakesAndAreFoundByTheirOwn(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	names := []string{"first", "my.node", "my-node", "My.Node", "end-", "7", "a_b", long + "1", long + "2"}
	app := &spec.Application{Name: strings.Repeat("shop", 20)}
	for _, name := range names[:3] {
		app.Nodes = append(app.Nodes, spec.Node{Name: name, Image: spec.Image{Kind: spec.ImageService, Name: "a:1"}})
	}
	for _, name := range names[4:] {
		app.Nodes = append(app.Nodes, spec.Node{Name: name, Depends: []string{"my.node"}, Image: spec.Image{Kind: spec.ImageService, Name: "a:1"}})
	}
	p, err := packager.New(app, sample.Archive(), config.Config{}, packager.Options{AllowHost: sample.Host})
	if err != nil {
		t.Fatal(err)
	}
	dir := packagedFor(t, p, defaults, false)
	manager, found, taken := "", map[string]string{}, map[string]bool{}
	of := regexp.MustCompile(`^[A-Za-z0-9]([_-]*[A-Za-z0-9])*$`) // swarmkit, manager/controlapi/common.go
	for _, s := range stacked(t, dir).Services {
		if whole := p.App + "_" + s.Name; len(whole) > 63 || !of.MatchString(s.Name) || taken[strings.ToLower(s.Name)] {
			t.Errorf("a service is called %q", s.Name)
		}
		taken[strings.ToLower(s.Name)] = true
		for _, name := range append(s.Networks["toskose"].Aliases, s.Name) {
			found[name] = s.Name
		}
		if v := s.Environment["TOSKOSE_DISCOVERY_NAMES"]; v != nil {
			manager += *v
		}
	}
	if want := "end-=end,7=n-7," + long + "1=" + found[long+"1"] + "," + long + "2=" + found[long+"2"]; manager != want {
		t.Errorf("the manager finds %s, want %s", manager, want)
	}
	for _, name := range append(names[:3], names[4:]...) {
		if found[name] == "" {
			t.Errorf("nothing has the name %q", name)
		}
	}
	local := project(t, dir, compose.LocalFile)
	if d := local.Services["a_b"].DependsOn; len(d) != 1 || d[found["my.node"]].Condition == "" {
		t.Errorf("a_b depends on %v", d)
	}
	warnings := strings.Join(compose.Warnings(p), "\n")
	if want := `container "end-": its name "end-" cannot be resolved; clients have to dial "end"`; !strings.Contains(warnings, want) {
		t.Errorf("no %q in\n%s", want, warnings)
	}
}

func TestASingleEngineRestartsAsThePolicySaysAndItsContainersHaveTheLabels(t *testing.T) {
	t.Parallel()
	three := 3
	labels := map[string]string{"price": "$5"}
	for want, policy := range map[string]config.RestartPolicy{
		"unless-stopped": {}, "no": {Condition: "none"}, "on-failure": {Condition: "on-failure"},
		"on-failure:3": {Condition: "on-failure", MaxAttempts: &three},
	} {
		cfg := config.Config{Nodes: map[string]config.Node{"store": {Deploy: config.Deploy{RestartPolicy: policy, Labels: labels}}}}
		dir := packagedFor(t, plan(t, cfg), defaults, false)
		got := project(t, dir, compose.LocalFile).Services["store"]
		if got.Restart != want || got.Labels["price"] != "$5" || got.Labels[packager.LabelNode] != "store" {
			t.Errorf("%+v is %q with %q, want %q", policy, got.Restart, got.Labels, want)
		}
	}
}

func TestTheNamesOfExternalSecretsAreSuchAsASwarmTakes(t *testing.T) {
	t.Parallel()
	app := sample.App()
	app.Nodes[0].Env = map[string]string{"A_": "1", strings.Repeat("B", 80): "2", strings.Repeat("B", 81): "3"}
	cfg := config.Config{Secrets: []string{"backend.A_", "backend." + strings.Repeat("B", 80), "backend." + strings.Repeat("B", 81)}}
	p, err := packager.New(app, sample.Archive(), cfg, packager.Options{AllowHost: sample.Host})
	if err != nil {
		t.Fatal(err)
	}
	of := regexp.MustCompile(`^[a-zA-Z0-9]+([a-zA-Z0-9-_.]*[a-zA-Z0-9])?$`) // as above
	taken := map[string]bool{}
	for name, s := range stacked(t, packagedFor(t, p, defaults, true)).Secrets {
		if len(s.Name) > 64 || !of.MatchString(s.Name) || taken[s.Name] || s.Name != compose.SecretNames(p)[name] {
			t.Errorf("%s is called %q", name, s.Name)
		}
		taken[s.Name] = true
	}
	if len(taken) != 8 {
		t.Errorf("%d secrets", len(taken))
	}
}
