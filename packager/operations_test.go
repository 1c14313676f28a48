package packager_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	unit "github.com/toskose/toskose/unit/config"
)

// TestOperationsAreWhatToskoseYmlSays has the unit's configuration and the
// manager's model with and without what toskose.yml says of operations.
func TestOperationsAreWhatToskoseYmlSays(t *testing.T) {
	t.Parallel()
	app := sample.App()
	push := protocol.Operation{Interface: "api_interface", Name: "push_default"}
	app.Components[0].Protocol = app.Components[0].Protocol.WithFree(push)
	all := config.TargetComponent{
		Node: "backend", Requires: []string{"connection"},
		Operations: map[string]config.TargetOperation{
			"Standard.create": {Kind: "run"}, "Standard.start": {Kind: "start"}, "api_interface.start": {Kind: "start"},
			"api_interface.push_default": {Kind: "run", States: []string{"created", "deleted", "running"}},
		},
	}
	if diff := cmp.Diff(all, packager.TargetOf(app).Components["api"]); diff != "" {
		t.Errorf("what may be named (-want +got):\n%s", diff)
	}
	cfg := withComponent("backend", "api", config.Component{Operations: map[string]config.Operation{
		"api_interface.push_default": {States: []string{"running", "deleted"}},
		"api_interface.start":        {Kind: "run"},
		"Standard.create":            {Kind: "start"},
	}})
	for name, tt := range map[string]struct {
		cfg           config.Config
		kinds, states string
	}{
		"without": {config.Config{}, "create run, Standard.start start, push_default run, api_interface.start start", `["created","running"]`},
		"with":    {cfg, "create start, Standard.start start, push_default run, api_interface.start run", `["deleted","running"]`},
	} {
		p := plan(t, app, tt.cfg)
		conf := fileOf(t, image(t, p, "backend"), func(f packager.File) bool { return f.Path == packager.UnitConfPath })
		var kinds []string
		for _, program := range []string{"create", "Standard.start", "push_default", "api_interface.start"} {
			_, section, _ := strings.Cut(conf, "[program:api."+program+"]\n")
			_, kind, _ := strings.Cut(section, "toskose_operation=")
			kind, _, _ = strings.Cut(kind, "\n")
			kinds = append(kinds, program+" "+kind)
		}
		if got := strings.Join(kinds, ", "); got != tt.kinds {
			t.Errorf("%s: kinds are %s", name, got)
		}
		free := `"free":[{"interface":"api_interface","operation":"push_default","states":` + tt.states
		for _, node := range []string{"backend", ""} {
			fileOf(t, image(t, p, node), func(f packager.File) bool {
				return strings.Contains(strings.Join(strings.Fields(string(f.Data)), ""), free)
			})
		}
	}
	if diff := cmp.Diff([]string{"created", "running"}, app.Components[0].Protocol.Free[0].States); diff != "" {
		t.Errorf("the application has changed (-want +got):\n%s", diff)
	}
}

func withComponent(node, name string, c config.Component) config.Config {
	return config.Config{Nodes: map[string]config.Node{node: {Components: map[string]config.Component{name: c}}}}
}

// TestTheUnitGetsWhatToskoseYmlSaysOfComponents has the unit read its configuration,
// which it does strictly.
func TestTheUnitGetsWhatToskoseYmlSaysOfComponents(t *testing.T) {
	t.Parallel()
	cfg := withComponent("backend", "api", config.Component{
		Readiness: config.Readiness{
			TCP: "8000", HTTP: "http://127.0.0.1:8000/a b?c=%20#d", Command: `./check "a  b" 100% ; #`, Log: " 100% ;ready #1", Notify: true,
			Timeout: "1m30s", Interval: "50ms",
		},
		Liveness: config.Liveness{
			TCP: "8000", HTTP: "http://127.0.0.1:8000/a b", Status: "200-204", Text: "100%", Command: `./check "a  b" 100% ; #`, Timeout: "500ms", Failures: 2, Then: "report",
		},
		Output: "json", StopSignal: "QUIT", StopGrace: "40s", User: "root:0",
		Operations: map[string]config.Operation{
			"Standard.create":            {User: "0", Timeout: "1500ms"},
			"api_interface.push_default": {Timeout: "0s"},
			"api_interface.start":        {Kind: "run"},
		},
	})
	n, marked := cfg.Nodes["backend"], false
	n.CoredumpMark, n.Components["viewer"] = &marked, config.Component{Output: "none", Readiness: config.Readiness{None: true}}
	cfg.Nodes["backend"] = n
	p := plan(t, sample.App(), cfg)
	if grace := service(t, p, "backend").StopGrace; grace != 85 {
		t.Errorf("the container has %d seconds to end, want 85: twice the longest grace, and 5", grace)
	}
	c := readByTheUnit(t, p, "backend")
	if c.Supervisord.Output != unit.OutputPrefixed || c.Supervisord.CoreMark {
		t.Errorf("[supervisord] is %+v", c.Supervisord)
	}
	root := &unit.User{Name: "root", UID: 0, GID: 0, Groups: []int{0}}
	type settings struct {
		Ready   *unit.Ready
		Live    *unit.Live
		Output  unit.Output
		Signal  syscall.Signal
		Grace   int
		User    *unit.User
		Timeout time.Duration
	}
	ready := &unit.Ready{
		TCP: "127.0.0.1:8000", HTTP: "http://127.0.0.1:8000/a%20b?c=%20", Argv: []string{"./check", "a  b", "100%", ";", "#"},
		Log: `(?:) 100% \;ready \#1(?:)`, Notify: true, Timeout: 90 * time.Second, Interval: 50 * time.Millisecond,
	}
	live := &unit.Live{
		TCP: "127.0.0.1:8000", HTTP: "http://127.0.0.1:8000/a%20b", FirstStatus: 200, LastStatus: 204, Text: "100%", Argv: []string{"./check", "a  b", "100%", ";", "#"},
		Interval: 10 * time.Second, Timeout: 500 * time.Millisecond, Failures: 2, Then: unit.LiveReport,
	}
	term := syscall.SIGTERM
	for name, want := range map[string]settings{
		"api:Standard.start":      {ready, live, unit.OutputJSON, syscall.SIGQUIT, 40, root, 0},
		"api:create":              {nil, nil, unit.OutputJSON, term, 10, root, 1500 * time.Millisecond},
		"api:push_default":        {nil, nil, unit.OutputJSON, term, 10, root, 0},
		"api:api_interface.start": {nil, nil, unit.OutputJSON, term, 10, root, 0},
		"viewer:start":            {nil, nil, unit.OutputNone, term, 10, nil, 0},
	} {
		component, operation, _ := strings.Cut(name, ":")
		got, ok := c.Program(component, operation)
		if !ok {
			t.Errorf("there is no program %s", name)
			continue
		}
		if got.User != nil {
			got.User.Name, got.User.Groups = "root", []int{0} // of this machine
		}
		have := settings{got.Ready, got.Live, got.Output, got.StopSignal, got.StopWaitSecs, got.User, got.Timeout}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// readByTheUnit returns the configuration of a container as its unit reads it.
func readByTheUnit(t *testing.T, p *packager.Plan, node string) *unit.Config {
	t.Helper()
	text := fileOf(t, image(t, p, node), func(f packager.File) bool { return f.Path == packager.UnitConfPath })
	document := fileOf(t, image(t, p, node), func(f packager.File) bool { return f.Path == packager.ContainerPath })
	file := filepath.Join(t.TempDir(), "supervisord.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), path.Base(packager.ContainerPath)), []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := unit.Load(file, service(t, p, node).Env)
	if err != nil {
		t.Fatalf("the unit says %v of:\n%s", err, text)
	}
	return c
}

func TestTheDeclaredPortIsWhatAStartIsReadyAt(t *testing.T) {
	t.Parallel()
	tcp := func(ports ...int) (all []spec.Port) {
		for _, p := range ports {
			all = append(all, spec.Port{Container: p, Protocol: "tcp"})
		}
		return all
	}
	for name, tt := range map[string]struct {
		change func(app *spec.Application) // of frontend, with gui in it
		cfg    config.Readiness
		want   string
	}{
		"no port":                       {func(*spec.Application) {}, config.Readiness{}, ""},
		"its endpoint":                  {func(app *spec.Application) { app.Components[1].Endpoint = 81 }, config.Readiness{}, "127.0.0.1:81"},
		"the container's only port":     {func(app *spec.Application) { app.Nodes[1].Ports = tcp(82) }, config.Readiness{}, "127.0.0.1:82"},
		"one of several":                {func(app *spec.Application) { app.Nodes[1].Ports = tcp(82, 83) }, config.Readiness{}, ""},
		"the container's endpoint":      {func(app *spec.Application) { app.Nodes[1].Ports, app.Nodes[1].Endpoint = tcp(82, 83), 83 }, config.Readiness{}, "127.0.0.1:83"},
		"its endpoint before its ports": {func(app *spec.Application) { app.Nodes[1].Ports, app.Components[1].Endpoint = tcp(82), 81 }, config.Readiness{}, "127.0.0.1:81"},
		"a port that two could have": {func(app *spec.Application) {
			app.Nodes[1].Ports, app.Components[2].Node = tcp(82), "frontend"
		}, config.Readiness{}, ""},
		"switched off":    {func(app *spec.Application) { app.Components[1].Endpoint = 81 }, config.Readiness{None: true}, ""},
		"with a timeout":  {func(app *spec.Application) { app.Components[1].Endpoint = 81 }, config.Readiness{Timeout: "5s"}, "127.0.0.1:81"},
		"something else":  {func(app *spec.Application) { app.Components[1].Endpoint = 81 }, config.Readiness{Log: "ready"}, ""},
		"another address": {func(app *spec.Application) { app.Components[1].Endpoint = 81 }, config.Readiness{TCP: "gui:84"}, "gui:84"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := sample.App()
			tt.change(app)
			program, _ := readByTheUnit(t, plan(t, app, withComponent("frontend", "gui", config.Component{Readiness: tt.cfg})), "frontend").Program("gui", "start")
			got := ""
			if program.Ready != nil {
				got = program.Ready.TCP
			}
			if got != tt.want {
				t.Errorf("it is ready at %q, want %q", got, tt.want)
			}
		})
	}
}

func fileOf(t *testing.T, i packager.Image, is func(packager.File) bool) string {
	t.Helper()
	for _, f := range i.Files {
		if is(f) {
			return string(f.Data)
		}
	}
	t.Errorf("image %q does not have the file", i.Name)
	return ""
}
