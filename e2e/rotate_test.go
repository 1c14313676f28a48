package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/swarm"
)

// rotated replaces passwords, certificates and their authority while the application is
// used, and deploys it again: no container is replaced, and nothing is refused but what was
// before. It has a component that can be restarted, and a certificate of its container. ids
// tells the containers from others.
func rotated(t *testing.T, app *application, component, certificate string, ids func() string, rotations ...[]string) {
	t.Helper()
	before, password := ids(), app.password
	end := whileUsed(t, []string{"restart", component, "--context", app.name}, []string{"ps", "--context", app.name})
	defer end()
	for _, args := range rotations {
		r := must(t, "", "toskose", args...)
		if !strings.Contains(r.stdout, "refuse the old secrets: ") || !strings.Contains(r.stdout, certificate) {
			t.Errorf("rotate: %v", r)
		}
	}
	t.Logf("%d restarts meanwhile", end())
	app.password = strings.TrimSpace(read(t, filepath.Join(app.dir, "secrets", "manager-password")))
	for given, want := range map[string]string{password: "401", app.password: "200"} {
		r := must(t, "", found(t, "curl"), "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", filepath.Join(app.dir, "secrets", "tls-ca.crt"),
			"-u", "admin:"+given, strings.Replace(app.manager, "http://", "https://", 1)+"/api/v1/app")
		if r.stdout != want {
			t.Errorf("a password is answered with %s, not %s: %v", r.stdout, want, r)
		}
	}
	must(t, "", "toskose", app.deploying(app.dir)...)
	if after := ids(); after != before {
		t.Errorf("containers were replaced: %v, and were %v", after, before)
	}
}

// whileUsed runs commands again and again, none of which may fail, until it is ended, and
// counts the rounds.
func whileUsed(t *testing.T, commands ...[]string) (end func() (rounds int)) {
	t.Helper()
	stop := make(chan struct{})
	var using sync.WaitGroup
	rounds := 0
	using.Go(func() {
		for {
			for _, args := range commands {
				if r := command(t, "", "toskose", args...); r.code != 0 {
					t.Errorf("%q while secrets are replaced: %v", args, r)
				}
			}
			rounds++
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	return sync.OnceValue(func() int {
		close(stop)
		using.Wait()
		return rounds
	})
}

// TestSecretsAreReplacedOnAOneNodeSwarm replaces passwords, certificates and their authority
// while the application is used: containers are replaced, and no operation is lost.
func TestSecretsAreReplacedOnAOneNodeSwarm(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	joinSwarm(t, engine)
	flags := append([]string{"--tls", "-i", "token=token-" + random(), "-i", "store_password=word-" + random()}, forSwarm...)
	app := packageAs(t, engine, "testdata/safe", nil, func(string) string {
		return "secrets: [keeper.token, keeper.login, keeper.store_password, store.STORE_PASSWORD]\n"
	}, flags...)
	app.target = onSwarm
	app.deploy(t)
	must(t, "", "toskose", "up", "--timeout", patience, "--dir", app.dir)
	rotatedOnASwarm(t, app, []string{"--passwords", "--authority"}, []string{"box"}, []string{"keeper"})
	if said := must(t, "", found(t, "docker"), "secret", "ls", "--filter", "name="+app.name, "--format", "{{.Name}}").stdout; strings.Count(said, "_box-password_") != 1 || strings.Count(said, "_tls-ca.crt_") != 1 {
		t.Errorf("secrets of before are left:\n%s", said)
	}
}

// rotatedOnASwarm replaces secrets while components are started again and again: the containers
// of toskosed nodes are others then, and the goal has brought all of it back.
func rotatedOnASwarm(t *testing.T, app *application, what, nodes, components []string) {
	t.Helper()
	ask := []string{"--dir", app.dir, "--manager", strings.Replace(app.manager, "http://", app.scheme()+"://", 1)}
	dry := must(t, "", "toskose", app.there(app.dir, "rotate", append(what, "--dry-run")...)...).stdout
	if !strings.Contains(dry, "toskose-manager, "+strings.Join(nodes, ", ")+", toskose-manager") || !strings.Contains(dry, "start empty") {
		t.Errorf("it does not say what is replaced:\n%s", dry)
	}
	before, password := app.tasks(t), app.password
	commands := [][]string{append([]string{"ps"}, ask...)}
	for _, name := range components {
		commands = append(commands, append([]string{"restart", name}, ask...))
	}
	end := whileUsed(t, commands...)
	defer end()
	r := command(t, "", "toskose", app.there(app.dir, "rotate", what...)...)
	rounds := end()
	if r.code != 0 || !strings.Contains(r.stdout, "refuse the old secrets: ") || !strings.Contains(r.stdout, "created again in new containers, by the goal: "+strings.Join(components, ", ")) {
		t.Fatalf("rotate: %v", r)
	}
	t.Logf("%d rounds meanwhile\n%s", rounds, r.stdout)
	must(t, "", "toskose", append([]string{"wait", "--timeout", patience}, ask...)...)
	app.password = strings.TrimSpace(read(t, filepath.Join(app.dir, "secrets", "manager-password")))
	for given, want := range map[string]string{password: "401", app.password: "200"} {
		r := must(t, "", found(t, "curl"), "-sSk", "-o", "/dev/null", "-w", "%{http_code}", "-u", "admin:"+given, ask[3]+"/api/v1/app")
		if r.stdout != want {
			t.Errorf("a password is answered with %s, not %s: %v", r.stdout, want, r)
		}
	}
	after := app.tasks(t)
	for _, node := range append(nodes, "toskose-manager") {
		if one := after[slices.IndexFunc(after, named(node))]; slices.Contains(before, one) {
			t.Errorf("%s still runs in the container of before: %s", node, one)
		}
	}
	must(t, "", "toskose", app.deploying(app.dir)...)
	if again := app.tasks(t); !slices.Equal(again, after) {
		t.Errorf("deploying it again replaces containers: %q, and were %q", again, after)
	}
}

// tasks are what runs on a Swarm, as SERVICE TASK.
func (a *application) tasks(t *testing.T) (all []string) {
	t.Helper()
	services, err := a.engine.ServiceList(t.Context(), swarm.ServiceListOptions{Filters: filters.NewArgs(filters.Arg("label", "com.docker.stack.namespace="+a.name))})
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range services {
		tasks, err := a.engine.TaskList(t.Context(), swarm.TaskListOptions{Filters: filters.NewArgs(filters.Arg("service", service.ID), filters.Arg("desired-state", "running"))})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			all = append(all, strings.TrimPrefix(service.Spec.Name, a.name+"_")+" "+task.ID)
		}
	}
	slices.Sort(all)
	return all
}

// scheme is how the manager is asked.
func (a *application) scheme() string {
	if _, err := os.Stat(filepath.Join(a.dir, "secrets", "tls-ca.crt")); err == nil {
		return "https"
	}
	return "http"
}
