package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/api/types/volume"
)

// pagesPort is the input of testdata/commands.
const pagesPort = "page_port"

// packageRelease packages testdata/commands into a folder beside the first, so that its page names a release.
func (a *application) packageRelease(t *testing.T, name string, flags ...string) string {
	t.Helper()
	return a.packageIn(t, "testdata/commands", name, func(csar string) {
		edit(t, csar, "scripts/start.sh", "release-one", "release-"+name)
	}, append([]string{"--from", a.dir}, flags...)...)
}

// page is the release that the application's page names; empty: it does not answer.
func (a *application) page(t *testing.T) string {
	t.Helper()
	_, text := a.fetch(t, http.MethodGet, pagesPort, "/", "")
	release, found := strings.CutPrefix(strings.TrimSpace(text), "release-")
	if !found {
		return ""
	}
	return release
}

// shows waits until the page names a release.
func (a *application) shows(t *testing.T, release string) {
	t.Helper()
	last := ""
	eventually(t, fmt.Sprintf("the page shows release %s", release), func() bool {
		last = a.page(t)
		return last == release
	})
}

// locks are the names of the volumes and configs that have locks of the application.
func (a *application) locks(t *testing.T) (names []string) {
	t.Helper()
	label := filters.NewArgs(filters.Arg("label", "io.toskose.lock="+a.name))
	volumes, err := a.engine.VolumeList(t.Context(), volume.ListOptions{Filters: label})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range volumes.Volumes {
		names = append(names, "volume "+v.Name)
	}
	if a.target == onSwarm {
		configs, err := a.engine.ConfigList(t.Context(), swarm.ConfigListOptions{Filters: label})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range configs {
			names = append(names, "config "+c.Spec.Name)
		}
	}
	return names
}

// background is a command that runs.
type background struct {
	*exec.Cmd
	out   bytes.Buffer
	ended chan struct{}
}

func inBackground(t *testing.T, args ...string) *background {
	t.Helper()
	b := &background{Cmd: exec.CommandContext(contextAfter(t), filepath.Join(bin, "toskose"), args...), ended: make(chan struct{})}
	b.Stdout, b.Stderr = &b.out, &b.out
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = b.Wait() // ProcessState has it
		close(b.ended)
	}()
	t.Cleanup(func() {
		_ = b.Process.Kill() // it may have ended
		<-b.ended
	})
	return b
}

func (b *background) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := b.Process.Signal(s); err != nil {
		t.Fatalf("%v: %v\n%s", b.Args, err, b.out.String())
	}
}

// withALock starts a command, and stops its process when it has locked the application.
func (a *application) withALock(t *testing.T, args ...string) *background {
	t.Helper()
	b := inBackground(t, args...)
	eventually(t, "the application is locked", func() bool { return len(a.locks(t)) > 0 })
	b.signal(t, syscall.SIGSTOP)
	return b
}

func TestCommandsExcludeEachOtherByCompose(t *testing.T) {
	t.Parallel()
	excludeEachOther(t, byCompose)
}

func TestCommandsExcludeEachOtherOnASwarm(t *testing.T) {
	t.Parallel()
	joinSwarm(t, dockerEngine(t))
	excludeEachOther(t, onSwarm, forSwarm...)
}

// TestAnInterruptedUpgradeIsResumedOnASwarm kills deployments early, when the swarm has been told of some of them: the same
// command again deploys the release that it names, and a rollback returns to the one that ran before.
func TestAnInterruptedUpgradeIsResumedOnASwarm(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	joinSwarm(t, engine)
	if err := bring("busybox:1.36"); err != nil {
		t.Fatal(err)
	}
	app := deploy(t, engine, onSwarm, "testdata/commands", []string{pagesPort}, forSwarm...)
	must(t, "", "toskose", app.deploying(app.dir, "--up")...)
	app.shows(t, "one")
	second := app.packageRelease(t, "two")
	for _, again := range []bool{true, false, true, false} {
		killed := inBackground(t, app.deploying(second, "--up")...)
		eventually(t, "the release is recorded", func() bool { return app.recorded(t) || !isRunning(killed) })
		killed.signal(t, syscall.SIGKILL)
		<-killed.ended
		if again {
			must(t, "", "toskose", app.deploying(second, "--up")...)
			if now := app.page(t); now != "two" {
				t.Errorf("deployed again, the page shows %q", now)
			}
		}
		must(t, "", "toskose", app.deploying(second, "--rollback", "--up")...)
		if now := app.page(t); now != "one" {
			t.Errorf("rolled back, the page shows %q", now)
		}
	}
}

func isRunning(b *background) bool {
	select {
	case <-b.ended:
		return false
	default:
		return true
	}
}

// recorded reports whether a service has the record of a deployment that is not completed.
func (a *application) recorded(t *testing.T) bool {
	t.Helper()
	services, err := a.engine.ServiceList(t.Context(), swarm.ServiceListOptions{Filters: filters.NewArgs(filters.Arg("label", "com.docker.stack.namespace="+a.name))})
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(services, func(s swarm.Service) bool {
		return strings.Contains(s.Spec.Labels["io.toskose.releases"], `"pending":true`)
	})
}

// excludeEachOther has commands begin while another one changes the application: each is refused, and says by whom
// the application is locked.
func excludeEachOther(t *testing.T, target string, flags ...string) {
	engine := dockerEngine(t)
	if err := bring("busybox:1.36"); err != nil {
		t.Fatal(err)
	}
	app := deploy(t, engine, target, "testdata/commands", []string{pagesPort}, flags...)
	must(t, "", "toskose", app.deploying(app.dir, "--up")...)
	second, third := app.packageRelease(t, "two"), app.packageRelease(t, "three")
	file := filepath.Join(t.TempDir(), "backup.tar")
	for name, words := range map[string][]string{
		"deploy":            app.deploying(third),
		"deploy --rollback": app.deploying(app.dir, "--rollback"),
		"rotate":            app.there(app.dir, "rotate"),
		"undeploy":          app.there(app.dir, "undeploy", "--volumes"),
		"volume backup":     {"volume", "backup", "--stop", app.dir, file},
		"volume restore":    {"volume", "restore", "--stop", app.dir, file},
	} {
		if name == "volume restore" {
			must(t, "", "toskose", "volume", "backup", app.dir, file)
		}
		deploying := app.withALock(t, app.deploying(second, "--up")...)
		refused := command(t, "", "toskose", words...)
		want := fmt.Sprintf("is locked by %s, by process %d (`toskose deploy %s`), since 20", app.who(t), deploying.Process.Pid, second)
		if refused.code != 1 || !strings.Contains(refused.stderr, want) {
			t.Errorf("%s beside deploy does not say %q: %v", name, want, refused)
		}
		deploying.signal(t, syscall.SIGCONT)
		<-deploying.ended
		if !deploying.ProcessState.Success() {
			t.Fatalf("beside %s, deploy fails:\n%s", name, deploying.out.String())
		}
		app.shows(t, "two")
		must(t, "", "toskose", app.deploying(app.dir, "--up")...)
		app.shows(t, "one")
		_ = os.Remove(file) // of backup
	}
	app.dir = second
	app.oneOfTwoIsDeployed(t, second, third)
	stopped := app.withALock(t, app.deploying(app.dir)...)
	must(t, "", "toskose", app.deploying(third, "--up", "--steal-lock")...)
	stopped.signal(t, syscall.SIGKILL)
	app.shows(t, "three")
	if left := app.locks(t); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	app.dir = third
}

// who deploys.
func (a *application) who(t *testing.T) string {
	t.Helper()
	text := must(t, "", "toskose", a.there(a.dir, "release", "-o", "json")...).stdout
	_, text, _ = strings.Cut(text, `"by": "`)
	who, _, found := strings.Cut(text, `"`)
	if !found {
		t.Fatalf("nobody has deployed it: %s", text)
	}
	return who
}

// oneOfTwoIsDeployed deploys two folders at once, several times: a command that is refused has changed nothing.
func (a *application) oneOfTwoIsDeployed(t *testing.T, folders ...string) {
	t.Helper()
	for range 5 {
		var mutex sync.Mutex
		var done []string
		var group sync.WaitGroup
		for _, dir := range folders {
			group.Go(func() {
				r := command(t, "", "toskose", a.deploying(dir, "--up")...)
				mutex.Lock()
				defer mutex.Unlock()
				if r.code == 0 {
					done = append(done, filepath.Base(dir))
				} else if !strings.Contains(r.stderr, " is locked by ") {
					t.Errorf("%s is not refused because of the lock: %v", dir, r)
				}
			})
		}
		group.Wait()
		if len(done) == 0 {
			t.Fatal("none of two deployments at once succeeds")
		}
		if now := a.page(t); !slices.Contains(done, now) {
			t.Errorf("the page shows %q, and %q were deployed", now, done)
		}
	}
}
