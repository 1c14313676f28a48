package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThinkingIsUpgradedAndRolledBackByCompose goes through three versions of Thinking and
// back, in one folder.
func TestThinkingIsUpgradedAndRolledBackByCompose(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	if err := bases(); err != nil {
		t.Fatalf("the base images are missing: %v", err)
	}
	app := prepare(t, engine, "../examples/thinking", thinkingsPorts, func(string) string { return "" })
	app.target = byCompose
	t.Cleanup(func() { app.undeploy(t) })
	goThroughReleases(t, app, surroundings{})
	restart := func(t *testing.T) {
		must(t, "", found(t, "docker"), "restart", app.container(t, "backend"), app.container(t, "frontend"))
	}
	t.Run("restarted with a goal, it comes back by itself", func(t *testing.T) {
		restart(t)
		standing(t, app, http.StatusOK, "running")
		theThoughtIsThere(t, app)
	})
	t.Run("from another folder, containers that are the same run on, and the first may be removed", func(t *testing.T) {
		app.fromAnotherFolder(t)
		must(t, "", found(t, "docker"), "restart", app.container(t, "backend"))
		standing(t, app, http.StatusOK, "running")
		theThoughtIsThere(t, app)
	})
	t.Run("restarted without a goal, it shows that nothing runs", func(t *testing.T) {
		app.withoutAGoal(t)
		restart(t)
		standing(t, app, http.StatusServiceUnavailable, "configured")
	})
}

// fromAnotherFolder deploys a version whose gui differs from another folder, and removes the
// one that the application was deployed from.
func (a *application) fromAnotherFolder(t *testing.T) {
	t.Helper()
	in, old := a.instances(t), a.dir
	a.dir = filepath.Join(filepath.Dir(old), "another")
	a.packaging = append([]string{"-o", a.dir, "--from", old}, a.packaging[2:]...)
	surroundings{}.packageVersion(t, a, func(t *testing.T, dir string) {
		t.Helper()
		edit(t, dir, "scripts/gui/start.sh", "cd /opt", "echo 'from another folder'\ncd /opt")
	}, true)
	must(t, "", "toskose", a.deploying(a.dir)...)
	a.running(t, in, []string{"api", "logsniffer"}, "api", "gui", "logsniffer")
	if err := os.RemoveAll(old); err != nil {
		t.Fatal(err)
	}
}

// withoutAGoal has the manager only look.
func (a *application) withoutAGoal(t *testing.T) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, a.manager+"/api/v1/app/goal", strings.NewReader(`{"state": "none"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("admin", a.password)
	request.Header.Set("Content-Type", "application/json")
	if status, said := a.answered(t, request); status != http.StatusOK {
		t.Fatalf("the goal cannot be removed: %d %s", status, said.raw)
	}
}

// standing waits until the commands, what a load balancer asks and the metrics say where
// Thinking's components stand.
func standing(t *testing.T, app *application, ready int, state string) {
	t.Helper()
	stands := regexp.MustCompile(`(?m)^\S+ +(api|gui|logsniffer) +(?:\S+:\d+ +)?` + state + ` `) // store runs besides, without components
	eventually(t, "all components are "+state, func() bool {
		shown := command(t, "", "toskose", "ps", "--dir", app.dir, "--manager", app.manager).stdout
		return len(stands.FindAllString(shown, -1)) == 3
	})
	eventually(t, "the manager answers whether it is as the goal says", func() bool {
		status, _ := app.askAs(t, "", "", http.MethodGet, "/readyz?goal=1")
		return status == ready
	})
	_, said := app.ask(t, http.MethodGet, "/metrics")
	for _, component := range []string{"api", "gui", "logsniffer"} {
		if want := regexp.MustCompile(`toskose_component_replicas\{[^}]*component="` + component + `"[^}]*state="` + state + `"\} 1\n`); !want.MatchString(said.raw) {
			t.Errorf("the metrics do not say that %s is %s:\n%s", component, state, said.raw)
		}
	}
}

// surroundings are what the steps of an application's releases need where it runs. Each may
// be nil.
type surroundings struct {
	configure func(t *testing.T, frontend bool) // writes toskose.yml for a version with or without a frontend
	packaged  func(*testing.T)                  // brings the images to where they run
	deployed  func(*testing.T)                  // finds the manager

	// services: the names of a container are Services, so it runs on when it loses one.
	services bool
}

func (s surroundings) deploy(t *testing.T, app *application, args ...string) result {
	t.Helper()
	r := command(t, "", "toskose", app.deploying(app.dir, args...)...)
	if s.deployed != nil {
		s.deployed(t)
	}
	return r
}

// asks runs a command that asks the application's manager.
func (a *application) asks(t *testing.T, args ...string) string {
	t.Helper()
	return must(t, "", "toskose", append(args, "--dir", a.dir, "--manager", a.manager)...).stdout
}

// instances gives the container that each running component is in.
func (a *application) instances(t *testing.T) map[string]string {
	t.Helper()
	var all struct {
		Components []struct {
			Name, State string
			Replicas    []struct{ Instance string }
		}
	}
	if err := json.Unmarshal([]byte(a.asks(t, "ps", "-o", "json")), &all); err != nil {
		t.Fatal(err)
	}
	in := map[string]string{}
	for _, c := range all.Components {
		if c.State == "running" && len(c.Replicas) > 0 {
			in[c.Name] = c.Replicas[0].Instance
		}
	}
	return in
}

// running checks which components run and, where they are to be the same, that their
// containers are.
func (a *application) running(t *testing.T, before map[string]string, same []string, want ...string) map[string]string {
	t.Helper()
	a.asks(t, "wait", "--timeout", patience)
	now := a.instances(t)
	var names []string
	for name := range now {
		names = append(names, name)
		if before[name] != "" && (before[name] == now[name]) != slices.Contains(same, name) {
			t.Errorf("%s was in container %s and is in %s", name, before[name], now[name])
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("%q run, want %q", names, want)
	}
	return now
}

const remembered = "a thought of the first version"

func shareAThought(t *testing.T, app *application) {
	t.Helper()
	eventually(t, "a thought is shared", func() bool {
		status, _ := app.fetch(t, http.MethodPost, "api_port", "/thoughts", `{"text": "`+remembered+`", "author": "A tester"}`)
		return status == http.StatusCreated
	})
}

func theThoughtIsThere(t *testing.T, app *application) {
	t.Helper()
	var body string
	eventually(t, "the API answers", func() bool {
		var status int
		status, body = app.fetch(t, http.MethodGet, "api_port", "/thoughts", "")
		return status == http.StatusOK
	})
	if strings.Count(body, remembered) != 1 {
		t.Errorf("the thought is not there once:\n%s", body)
	}
}

// releases gives the ids of what was deployed, the newest first.
func (a *application) releases(t *testing.T) (ids []string) {
	t.Helper()
	var all struct {
		Releases []struct{ Release, By string }
		Others   map[string]string
	}
	if err := json.Unmarshal([]byte(must(t, "", "toskose", a.there(a.dir, "release", "-o", "json")...).stdout), &all); err != nil {
		t.Fatal(err)
	}
	for _, r := range all.Releases {
		ids = append(ids, r.Release)
		if !strings.Contains(r.By, "@") {
			t.Errorf("deployed by %q", r.By)
		}
	}
	if len(ids) == 0 {
		t.Fatal("no release is known")
	}
	if len(all.Others) > 0 {
		t.Errorf("these are at other releases: %v", all.Others)
	}
	return ids
}

// goThroughReleases upgrades Thinking and rolls it back. After each step the thought that was
// shared first is there, and components run on where their container is not replaced.
func goThroughReleases(t *testing.T, app *application, where surroundings) {
	t.Helper()
	succeeds := func(t *testing.T, flag string) string {
		t.Helper()
		r := where.deploy(t, app, flag)
		if r.code != 0 {
			t.Fatalf("deploy %s: %v", flag, r)
		}
		return r.stdout
	}
	deploy := func(t *testing.T, change version, frontend bool) string {
		t.Helper()
		where.packageVersion(t, app, change, frontend)
		return succeeds(t, "--up")
	}
	back := func(t *testing.T) string {
		t.Helper()
		return succeeds(t, "--rollback")
	}
	takenBack := func(t *testing.T, change version, to string) string {
		t.Helper()
		where.packageVersion(t, app, change, true)
		r := where.deploy(t, app)
		if r.code != 1 {
			t.Errorf("%v", r)
		}
		if again := "release " + to + ", which ran before, runs again"; !strings.Contains(r.stderr, again) {
			t.Errorf("it does not say %q:\n%s", again, r.stderr)
		}
		if ids := app.releases(t); ids[0] != to {
			t.Errorf("the releases are %q, and %s runs", ids, to)
		}
		return r.stderr
	}
	says := func(t *testing.T, said string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(said, part) {
				t.Errorf("it does not say %q:\n%s", part, said)
			}
		}
	}
	var in map[string]string
	var first, second string
	var backends []string // that run on when nobody dials backend by another name any more
	if where.services {
		backends = []string{"api", "logsniffer"}
	}
	for _, step := range []struct {
		name string
		do   func(*testing.T)
	}{
		{"the first version", func(t *testing.T) {
			deploy(t, func(*testing.T, string) {}, true)
			in = app.running(t, nil, nil, "api", "gui", "logsniffer")
			shareAThought(t, app)
			first = app.releases(t)[0]
		}},
		{"a script is changed and a component added", func(t *testing.T) {
			said := deploy(t, secondVersion, true)
			says(t, said, "start empty: frontend, toskose-manager\n", "components to be created, on the current volumes: clock, gui\n")
			in = app.running(t, in, []string{"api", "logsniffer"}, "api", "clock", "gui", "logsniffer")
			says(t, app.asks(t, "logs", "gui"), "of the second version")
			if ids := app.releases(t); len(ids) != 2 || ids[1] != first {
				t.Errorf("the releases are %q", ids)
			} else {
				second = ids[0]
			}
		}},
		{"a container is dropped", func(t *testing.T) {
			said := deploy(t, thirdVersion, false)
			if where.services {
				says(t, said, "start empty: toskose-manager\n")
			} else {
				says(t, said, "start empty: backend, toskose-manager\n", "on the current volumes: api, logsniffer\n")
			}
			in = app.running(t, in, backends, "api", "logsniffer")
		}},
		{"back to the second version, and its goal", func(t *testing.T) {
			app.asks(t, "down", "--timeout", patience)
			says(t, back(t), "back from release", "to "+second)
			in = app.running(t, in, backends, "api", "clock", "gui", "logsniffer")
		}},
		{"back to the first version", func(t *testing.T) {
			says(t, back(t), "to "+first, "start empty: frontend, toskose-manager\n")
			in = app.running(t, in, []string{"api", "logsniffer"}, "api", "gui", "logsniffer")
			if log := app.asks(t, "logs", "gui"); strings.Contains(log, "second version") {
				t.Errorf("gui is of the second version:\n%s", log)
			}
		}},
		{"there is no release before the first", func(t *testing.T) {
			r := command(t, "", "toskose", app.deploying(app.dir, "--rollback")...)
			if r.code != 1 || !strings.Contains(r.stderr, "is the first one") {
				t.Errorf("%v", r)
			}
		}},
		{"an upgrade that fails is taken back", func(t *testing.T) {
			says(t, takenBack(t, brokenVersion, first), "store", "no-such-option")
			in = app.running(t, in, []string{"api", "gui", "logsniffer"}, "api", "gui", "logsniffer")
		}},
		{"an upgrade whose unit fails is taken back", func(t *testing.T) {
			config := read(t, app.config)
			t.Cleanup(func() { write(t, app.config, config) })
			says(t, takenBack(t, app.brokenUnit, first), "frontend", `names user "ghost", which is not in /etc/passwd`)
			delete(in, "gui") // in the container that failed, or one beside it
			in = app.running(t, in, []string{"api", "logsniffer"}, "api", "gui", "logsniffer")
		}},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			step.do(t)
			theThoughtIsThere(t, app)
		}) {
			return
		}
	}
}
