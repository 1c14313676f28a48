package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// docker is a fake docker command that logs its arguments. FAKE_IMAGES are the existing images, FAKE_PULLS the
// images that can be pulled.
const docker = `#!/bin/sh
printf '%s\n' "$*" >>"$FAKE_LOG"
has() { case " $1 " in *" $2 "*) return 0 ;; esac; return 1; }
case "$1 $2" in
'image inspect')
	[ "$3" = -f ] && { echo; exit 0; } # no label: no stand-in
	has "$FAKE_IMAGES" "$3" ;;
'pull -q') has "$FAKE_PULLS" "$3" ;;
version*) ;;
*) exit 1 ;;
esac
`

// standIn runs the script with this docker command, and with commands that fail when it would build an image.
// asked is the list of calls of docker.
func standIn(t *testing.T, images, pulls string, args ...string) (asked []string, stderr string, err error) {
	t.Helper()
	dir := t.TempDir()
	// A file that a forked child still has open for writing cannot be executed.
	syscall.ForkLock.RLock()
	for name, text := range map[string]string{"docker": docker, "apt-get": "#!/bin/sh\nexit 1\n", "dpkg-deb": "#!/bin/sh\nexit 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Error(err)
		}
	}
	syscall.ForkLock.RUnlock()
	log := filepath.Join(dir, "log")
	cmd := exec.CommandContext(t.Context(), "./stand-in.sh", args...)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TOSKOSE_STAND_INS="+filepath.Join(dir, "cache"),
		"FAKE_LOG="+log, "FAKE_IMAGES="+images, "FAKE_PULLS="+pulls)
	var told strings.Builder
	cmd.Stderr = &told
	err = cmd.Run()
	data, readErr := os.ReadFile(log)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n"), told.String(), err
}

func TestAnImageThatIsThereOrCanBePulledHasNoStandIn(t *testing.T) {
	t.Parallel()
	asked, stderr, err := standIn(t, "redis:7", "python:3.11-slim", "redis:7", "python:3.11-slim")
	if err != nil || stderr != "" {
		t.Fatalf("%v\n%s", err, stderr)
	}
	want := "version|image inspect redis:7|image inspect python:3.11-slim|pull -q python:3.11-slim"
	if got := strings.Join(asked, "|"); got != want {
		t.Errorf("docker was asked %s, not %s", got, want)
	}
}

func TestAStandInIsTriedOnlyWhereThePullFailed(t *testing.T) {
	t.Parallel()
	asked, stderr, err := standIn(t, "", "", "redis:7")
	if err == nil || !strings.Contains(stderr, "redis:7") {
		t.Errorf("without packages no stand-in can be made: %v\n%s", err, stderr)
	}
	if pulled := strings.Join(asked, "|"); !strings.HasPrefix(pulled, "version|image inspect redis:7|pull -q redis:7") {
		t.Errorf("docker was asked %s", pulled)
	}
}

// TestAStandInIsKnownForEachImageOfTheTests: what is known gets as far as apt-get, which fails here.
func TestAStandInIsKnownForEachImageOfTheTests(t *testing.T) {
	t.Parallel()
	for image, known := range map[string]bool{
		"python:3.11-slim": true, "redis:7": true, "nginx:1.22": true, "postgres:15": true, "debian:bookworm-slim": true, "busybox:1.36": true,
		"supervisord:test": true, "graphite:test": true, "postgres:14": false,
	} {
		_, stderr, err := standIn(t, "", "", image)
		if err == nil || strings.Contains(stderr, image+" has no stand-in") == known {
			t.Errorf("%s: %v\n%s", image, err, stderr)
		}
	}
}

func TestAnImageThatIsNoStandInIsNotRemoved(t *testing.T) {
	t.Parallel()
	asked, stderr, err := standIn(t, "redis:7", "", "--remove", "redis:7")
	if err != nil || strings.Contains(strings.Join(asked, "|"), "image rm") {
		t.Errorf("%v %v\n%s", asked, err, stderr)
	}
}
