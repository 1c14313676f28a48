package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plugin is the section that runs supervisord-dependent-startup, as its documentation has it.
const plugin = `[supervisord]
[eventlistener:dependentstartup]
command=python3 -m supervisord_dependent_startup
autostart=true
events=PROCESS_STATE
`

func TestDependentStartupIsReadAsAnOrder(t *testing.T) {
	t.Parallel()
	type order struct {
		Autostart        bool
		After, AfterExit []string
	}
	for name, c := range map[string]struct {
		text     string
		want     map[string]order
		warnings []string
	}{
		"states": {
			plugin + "[program:db]\ncommand=true\nautostart=false\ndependent_startup=true\n" +
				"[program:migrate]\ncommand=true\nautostart=false\ndependent_startup=true\ndependent_startup_wait_for=db:running\n" +
				"[program:web]\ncommand=true\nautostart=false\ndependent_startup=true\ndependent_startup_wait_for=db migrate:exited\n" +
				"[program:manual]\ncommand=true\nautostart=false\n",
			map[string]order{
				"db:db": {true, nil, nil}, "migrate:migrate": {true, []string{"db:db"}, nil},
				"web:web": {true, []string{"db:db", "migrate:migrate"}, []string{"migrate:migrate"}}, "manual:manual": {},
				"dependentstartup:dependentstartup": {},
			},
			[]string{"[eventlistener:dependentstartup] is not started"},
		},
		"without the plugin": {
			"[supervisord]\n[program:web]\ncommand=true\nautostart=false\ndependent_startup=true\n",
			map[string]order{"web:web": {}},
			[]string{"dependent_startup has no effect"},
		},
		"an unknown name and a cycle": {
			plugin + "[program:a]\ncommand=true\nautostart=false\ndependent_startup=true\ndependent_startup_wait_for=b:running c:running\n" +
				"[program:b]\ncommand=true\nautostart=false\ndependent_startup=true\ndependent_startup_wait_for=a:running\n",
			map[string]order{
				"a:a": {true, []string{"b:b"}, nil}, "b:b": {true, nil, nil}, "dependentstartup:dependentstartup": {},
			},
			[]string{"is not started", `names "c", which is not a program or a group`, "makes a cycle, so the program does not wait"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "supervisord.conf")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			config, warnings, err := Load(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]order{}
			for _, g := range config.everyGroup() {
				for _, p := range g.Programs {
					got[p.FullName()] = order{p.Autostart, p.After, p.AfterExit}
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			for i, w := range warnings {
				if i >= len(c.warnings) || !strings.Contains(w.String(), c.warnings[i]) {
					t.Errorf("warning %d is %s", i, w)
				}
			}
			if len(warnings) != len(c.warnings) {
				t.Errorf("%d warnings, want %d: %v", len(warnings), len(c.warnings), warnings)
			}
		})
	}
}
