package packager_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/internal/sample"
	"github.com/toskose/toskose/tosca/protocol"
)

// TestOperationsAreWhatToskoseYmlSays has the unit's configuration and the
// manager's model with and without what toskose.yml says of operations.
func TestOperationsAreWhatToskoseYmlSays(t *testing.T) {
	t.Parallel()
	app := sample.App()
	push := protocol.Operation{Interface: "api_interface", Name: "push_default"}
	app.Components[0].Protocol = app.Components[0].Protocol.WithFree(push)
	all := map[string][]string{"Standard.create": nil, "Standard.start": nil, "api_interface.push_default": {"created", "deleted", "running"}, "api_interface.start": nil}
	if diff := cmp.Diff(all, packager.TargetOf(app).Components["api"]); diff != "" {
		t.Errorf("what may be named (-want +got):\n%s", diff)
	}
	cfg := config.Config{Components: map[string]config.Component{"api": {Operations: map[string]config.Operation{
		"api_interface.push_default": {States: []string{"running", "deleted"}},
		"api_interface.start":        {Kind: "run"},
		"Standard.create":            {Kind: "start"},
	}}}}
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
		if !strings.Contains(conf, free) {
			t.Errorf("%s: the unit does not have %s:\n%s", name, free, conf)
		}
		fileOf(t, image(t, p, ""), func(f packager.File) bool {
			return strings.Contains(strings.Join(strings.Fields(string(f.Data)), ""), free)
		})
	}
	if diff := cmp.Diff([]string{"created", "running"}, app.Components[0].Protocol.Free[0].States); diff != "" {
		t.Errorf("the application has changed (-want +got):\n%s", diff)
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
