//go:build podman

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// podmanUser runs toskose and docker as the user whose Podman it is. scripts/podman.sh sets the environment.
type podmanUser struct {
	home string
	uid  int // 0: root
}

// run runs a command and returns its output. It fails the test if the exit code is another one.
func (u podmanUser) run(t *testing.T, want int, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // also for clean-up, after the test's own context
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = u.home
	cmd.Env = append(os.Environ(), "HOME="+u.home, "TOSKOSE_CONFIG="+filepath.Join(u.home, "config"), "DOCKER_CONFIG="+filepath.Join(u.home, "docker"))
	if u.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.uid)}}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
		t.Fatalf("%s %s: %v, want exit code %d\n%s", name, strings.Join(args, " "), cmd.ProcessState, want, &out)
	}
	return out.String()
}

func (u podmanUser) toskose(t *testing.T, args ...string) string {
	t.Helper()
	return u.run(t, 0, filepath.Join(u.home, "bin", "toskose"), args...)
}

// containers returns the IDs of all containers, sorted.
func (u podmanUser) containers(t *testing.T) []string {
	t.Helper()
	ids := strings.Fields(u.run(t, 0, "docker", "ps", "--all", "--no-trunc", "--quiet"))
	slices.Sort(ids)
	return ids
}

// TestThinkingOnPodman deploys, updates, rolls back and removes an application on the Podman of DOCKER_HOST.
func TestThinkingOnPodman(t *testing.T) {
	u := podmanUser{home: os.Getenv("TOSKOSE_PODMAN_HOME")}
	if u.home == "" {
		t.Fatal("run it by scripts/podman.sh with root or rootless")
	}
	if text := os.Getenv("TOSKOSE_PODMAN_UID"); text != "" {
		var err error
		if u.uid, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{bin: "bin", "../examples/thinking": "thinking"} {
		if err := os.CopyFS(filepath.Join(u.home, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(u.home, "toskose.yml")
	if err := os.WriteFile(config, []byte("nodes: {backend: {deploy: {labels: {team: shop}}}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	u.own(t)

	u.toskose(t, "package", "-o", "one", "thinking")
	u.toskose(t, "deploy", "--up", "one")
	first := u.containers(t)
	if len(first) != 4 {
		t.Fatalf("there are %d containers", len(first))
	}
	u.toskose(t, "deploy", "one")
	if again := u.containers(t); !slices.Equal(first, again) {
		t.Errorf("deploying it again has replaced containers: %q, then %q", first, again)
	}
	if said := u.toskose(t, "diff", "one"); !strings.Contains(said, "deploy the same, by Compose") {
		t.Errorf("it differs: %s", said)
	}
	if said := u.toskose(t, "logs", "--dir", "one", "api"); !strings.Contains(said, "listening on port") {
		t.Errorf("its log is %q", said)
	}
	if listed := u.toskose(t, "ls"); !strings.Contains(listed, "thinking") {
		t.Errorf("the applications are %q", listed)
	}

	u.toskose(t, "package", "-o", "two", "--from", "one", "thinking", config)
	u.toskose(t, "deploy", "two")
	second := u.containers(t)
	kept := slices.DeleteFunc(slices.Clone(second), func(id string) bool { return !slices.Contains(first, id) })
	if len(second) != 4 || len(kept) != 3 {
		t.Errorf("an update of one container has kept %d of %d", len(kept), len(second))
	}
	if said := u.toskose(t, "release", "two"); strings.Count(said, "\n") != 4 { // a heading, and three deployments
		t.Errorf("the releases are\n%s", said)
	}
	u.toskose(t, "deploy", "--rollback", "two")
	if said := u.toskose(t, "diff", "one"); !strings.Contains(said, "deploy the same, by Compose") {
		t.Errorf("after a rollback it differs: %s", said)
	}
	u.toskose(t, "up", "--dir", "one")

	u.toskose(t, "undeploy", "one")
	if volumes := u.run(t, 0, "docker", "volume", "ls", "--quiet"); volumes != "thinking_dbvolume\n" {
		t.Errorf("undeploying it leaves the volumes %q", volumes)
	}
	u.toskose(t, "undeploy", "--volumes", "--images", "one")
	u.leavesNothing(t)
}

// own gives the files of the test to the user.
func (u podmanUser) own(t *testing.T) {
	t.Helper()
	for _, name := range []string{"bin", "thinking", "toskose.yml"} {
		err := filepath.WalkDir(filepath.Join(u.home, name), func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				err = os.Lchown(path, u.uid, u.uid)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// leavesNothing checks that the application has left no container, volume, network or copy of a secret.
func (u podmanUser) leavesNothing(t *testing.T) {
	t.Helper()
	for what, args := range map[string][]string{
		"containers": {"ps", "--all", "--quiet"}, "volumes": {"volume", "ls", "--quiet"},
		"networks": {"network", "ls", "--quiet", "--filter", "label=com.docker.compose.project=thinking"},
	} {
		if left := u.run(t, 0, "docker", args...); left != "" {
			t.Errorf("the %s %q are left", what, left)
		}
	}
	mounted, err := os.ReadDir(filepath.Join(u.home, "config", "mounted"))
	if err != nil || len(mounted) > 0 {
		t.Errorf("copies of secrets are left: %s, %v", fmt.Sprint(mounted), err)
	}
}
