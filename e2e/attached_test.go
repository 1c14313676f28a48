package e2e

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"
)

// attachable are applications in the shapes of public ones, in testdata/attached, with the programs that settle in
// these states and the log files that they write.
var attachable = []struct {
	name     string
	env      []string
	programs map[string]string
	logs     []string
	exit     int
	listens  bool // an event listener runs that the unit replaces
}{
	{
		name: "exports", env: []string{"ENABLE_WORKER=false", "WORKERS=3"},
		programs: map[string]string{"app": "RUNNING", "worker": "STOPPED", "scheduler": "STOPPED"},
		logs:     []string{"app.log"},
	},
	{
		name: "includes", env: []string{"SERVICES=web queue"},
		programs: map[string]string{"web": "RUNNING", "queue:queue_00": "RUNNING", "queue:queue_01": "RUNNING", "queue:queue_02": "RUNNING"},
		logs:     []string{"web.log", "queue_00.log", "queue_01.log", "queue_02.log"}, exit: 7,
	},
	{
		name:     "scripted",
		programs: map[string]string{"boot": "EXITED", "database": "RUNNING", "app": "RUNNING", "extra": "RUNNING"},
		logs:     []string{"boot.log", "database.log", "app.log", "extra.log"},
	},
	{
		name:     "dependent",
		programs: map[string]string{"database": "RUNNING", "migrate": "EXITED", "app": "RUNNING"},
		logs:     []string{"database.log", "migrate.log", "app.log"}, listens: true,
	},
	{
		name:     "web",
		programs: map[string]string{"pages:nginx": "RUNNING", "pages:php-fpm": "RUNNING", "cron": "RUNNING"},
		logs:     []string{"cron.log"},
	},
}

// attachedImage builds an image of testdata/attached.
func attachedImage(t *testing.T, engine *client.Client, name string) (ref string) {
	t.Helper()
	if err := bring("supervisord:test"); err != nil {
		t.Fatal(err)
	}
	ref = "attached-" + name + ":" + run
	must(t, "", found(t, "docker"), "build", "-q", "-t", ref, filepath.Join("testdata", "attached", name))
	t.Cleanup(func() {
		if _, err := engine.ImageRemove(contextAfter(t), ref, image.RemoveOptions{PruneChildren: true}); err != nil {
			t.Errorf("cannot remove the image %s: %v", ref, err)
		}
	})
	return ref
}

// TestAttachedContainersRunAsBefore runs each application with supervisord, and then with the unit in its place: what runs,
// as whom, with which environment, limits and files, what is logged, and how the container exits, are the same.
func TestAttachedContainersRunAsBefore(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	for _, app := range attachable {
		t.Run(app.name, func(t *testing.T) {
			t.Parallel()
			ref := attachedImage(t, engine, app.name)
			observe := func(config container.Config, host container.HostConfig) observed {
				config.Image, config.Hostname, config.Env = ref, "box", append(config.Env, app.env...)
				id := startContainer(t, engine, config, host)
				o := settle(t, engine, id, app.programs)
				patience := 60
				if err := engine.ContainerStop(t.Context(), id, container.StopOptions{Timeout: &patience}); err != nil {
					t.Fatal(err)
				}
				ended, err := engine.ContainerInspect(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				o.Exit = ended.State.ExitCode
				for _, file := range app.logs {
					o.Logs[file] = fileIn(t, engine, id, "/var/log/"+file)
				}
				return o
			}
			before := observe(container.Config{}, container.HostConfig{})
			attached := observe(container.Config{Env: []string{"TOSKOSE_UNIT_LISTEN=:9010", "SUPERVISORD_PASSWORD=secret"}},
				container.HostConfig{Binds: []string{filepath.Join(bin, "toskose-unit") + ":/usr/bin/supervisord:ro"}})
			if app.listens {
				before.Processes = slices.DeleteFunc(before.Processes, func(p observedProcess) bool {
					return strings.Contains(p.Command, "supervisord_dependent_startup")
				})
			}
			if diff := cmp.Diff(before, attached); diff != "" {
				t.Errorf("attached containers differ (-supervisord +unit):\n%s", diff)
			}
			if before.Exit != app.exit {
				t.Errorf("supervisord's container exits with %d", before.Exit)
			}
		})
	}
}

// observed is a container as it can be seen from outside.
type observed struct {
	Programs  map[string]string
	Processes []observedProcess
	Logs      map[string]string
	Exit      int
}

type observedProcess struct {
	Command, Parent string
	Status          map[string]string // lines of /proc/PID/status
	Environment     []string
	Limits          string
	Files           map[string]string // descriptors, by number
	Folder          string
	Leads           bool // a process group
}

// observer prints all processes of a container, except init, supervisord and those that come from outside. The unit adds
// to each process, by which it recognizes it, variables of its own and a limit on real-time scheduling. Signals 32 and 33
// are the C library's own: whether they are ignored depends on what started the engine.
const observer = `
import json, os, re
def read(pid, file):
    return open(f"/proc/{pid}/{file}", errors="backslashreplace").read()
def command(pid):
    return "supervisor" if supervises(pid) else read(pid, "cmdline").replace("\0", " ").strip()
def supervises(pid):
    return re.match(r"(/usr/bin/python3 )?(/usr/bin/)?supervisord( |$)", read(pid, "cmdline").replace("\0", " ")) is not None
def parent(pid):
    return int(read(pid, "stat").rpartition(")")[2].split()[1])
def kind(path):
    return re.sub(r":\[\d+\]$|/tmp/\S+|---supervisor-\S+", "", path)
def ignored(mask):
    return "%016x" % (int(mask, 16) & ~(3 << 31))
everything = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if pid == "1" or supervises(pid) or parent(pid) == 0 or int(pid) == os.getpid():
            continue
        status = dict(line.split(":\t", 1) for line in read(pid, "status").splitlines() if ":\t" in line)
        everything.append({
            "Command": command(pid), "Parent": command(parent(pid)),
            "Status": {k: status[k] for k in ("Uid", "Gid", "Groups", "Umask", "SigBlk", "SigCgt", "CapEff", "NoNewPrivs", "Seccomp")} | {"SigIgn": ignored(status["SigIgn"])},
            "Environment": sorted(v for v in read(pid, "environ").rstrip("\0").split("\0") if not v.startswith("TOSKOSE_")),
            "Limits": re.sub(r"Max realtime timeout.*", "", read(pid, "limits")),
            "Files": {fd: kind(os.readlink(f"/proc/{pid}/fd/{fd}")) for fd in os.listdir(f"/proc/{pid}/fd")},
            "Folder": os.readlink(f"/proc/{pid}/cwd"),
            "Leads": os.getpgid(int(pid)) == int(pid),
        })
    except (OSError, ValueError):
        continue
print(json.dumps(sorted(everything, key=lambda p: (p["Command"], p["Environment"]))))
`

// startContainer runs a container until the test has ended.
func startContainer(t *testing.T, engine *client.Client, config container.Config, host container.HostConfig) (id string) {
	t.Helper()
	made, err := engine.ContainerCreate(t.Context(), &config, &host, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.ContainerRemove(contextAfter(t), made.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			t.Errorf("cannot remove a container: %v", err)
		}
	})
	if err := engine.ContainerStart(t.Context(), made.ID, container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// fileIn returns a file of a container, which need not run.
func fileIn(t *testing.T, engine *client.Client, id, path string) string {
	t.Helper()
	archive, _, err := engine.CopyFromContainer(t.Context(), id, path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := tar.NewReader(archive)
	if _, err := files.Next(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(files)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var statusLine = regexp.MustCompile(`(?m)^(\S+) +([A-Z]+)`)

// settle waits until all programs of a container have their states, and no process is added any more.
func settle(t *testing.T, engine *client.Client, id string, programs map[string]string) observed {
	t.Helper()
	o := observed{Logs: map[string]string{}}
	eventually(t, fmt.Sprintf("the programs are %v", programs), func() bool {
		o.Programs = programStates(inContainer(t, engine, id, "sh", "-c", "supervisorctl status || :"))
		return cmp.Equal(o.Programs, programs)
	})
	var before string
	eventually(t, "no process starts any more", func() bool {
		now := inContainer(t, engine, id, "python3", "-c", observer)
		same := now == before
		before = now
		return same
	})
	if err := json.Unmarshal([]byte(before), &o.Processes); err != nil {
		t.Fatal(err)
	}
	return o
}
