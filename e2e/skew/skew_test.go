//go:build skew

package skew

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/internal/testapp"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/spec"
)

// versions are folders with binaries, by what people call them.
func versions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"now": os.Getenv("TOSKOSE_SKEW_NOW"), "before": os.Getenv("TOSKOSE_SKEW_BEFORE")}
	for name, dir := range all {
		if _, err := os.Stat(filepath.Join(dir, "toskose-unit")); err != nil {
			t.Fatalf("the binaries of %q are missing (make test-skew builds them): %v", name, err)
		}
	}
	return all
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// application runs a unit and a manager, and returns a folder that a command line asks the
// manager by, and what puts another unit in the place of that one, on its files.
func application(t *testing.T, unit, manager string) (dir string, replace func(unit string)) {
	t.Helper()
	dir = t.TempDir()
	managerPort, unitPort := freeport.Find(t), freeport.Find(t)
	at := func(port int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port))
	}
	app := testapp.Shop()
	app.Nodes[0].Alias, app.Nodes[0].Unit = "127.0.0.1", &spec.Unit{Port: unitPort, User: "admin"}
	model, err := spec.Encode(app)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{
		"docker-compose.yml": output.Header + fmt.Sprintf("x-toskose: {app: shop, manager: {port: %d, user: admin}, nodes: [backend]}\n", managerPort),
		"app.json":           string(model), "secrets/manager-password": "the manager's\n", "secrets/backend-password": "the unit's\n", "secrets/manager-secret-key": "key\n",
		"manager.yml":      fmt.Sprintf("nodes:\n  backend: {alias: \"127.0.0.1\", port: %d, user: admin}\nmanager: {alias: manager, port: %d, user: admin}\n", unitPort, managerPort),
		"documents/.empty": "", "supervisord.conf": string(testunit.API(dir, uint16(unitPort))),
	})
	secret := func(name string) string { return filepath.Join(dir, "secrets", name) }
	run := func(unit string) *testunit.Process {
		process := testunit.Start(t, []string{"SUPERVISORD_USER=admin", "SUPERVISORD_PASSWORD_FILE=" + secret("backend-password")},
			filepath.Join(unit, "toskose-unit"), "-c", filepath.Join(dir, "supervisord.conf"))
		testunit.AwaitHealth(t, at(unitPort))
		return process
	}
	first := run(unit)
	options := []string{filepath.Join(manager, "toskose-manager"), "--app", filepath.Join(dir, "app.json")}
	if manager == versions(t)["before"] { // it has its settings in a file of their own
		options = append(options, "--config", filepath.Join(dir, "manager.yml"))
	}
	testunit.Start(t, []string{
		"TOSKOSE_MANAGER_PORT=" + strconv.Itoa(managerPort), "TOSKOSE_DISCOVERY=alias", "TOSKOSE_MANAGER_USER=admin", "TOSKOSE_SECRETS=" + filepath.Join(dir, "secrets"),
		"TOSKOSE_MANAGER_PASSWORD_FILE=" + secret("manager-password"), "SECRET_KEY_FILE=" + secret("manager-secret-key"),
	}, options...)
	testunit.AwaitHealth(t, at(managerPort))
	return dir, func(unit string) { first.Stop(); run(unit) }
}

// TestVersionsSideBySide takes an application through its life with each command line, each
// manager and each unit.
func TestVersionsSideBySide(t *testing.T) {
	t.Parallel()
	all := versions(t)
	for unitName, unit := range all {
		for managerName, manager := range all {
			for lineName, line := range all {
				t.Run(fmt.Sprintf("unit %s, manager %s, command line %s", unitName, managerName, lineName), func(t *testing.T) {
					t.Parallel()
					dir, _ := application(t, unit, manager)
					live(t, filepath.Join(line, "toskose"), dir)
				})
			}
		}
	}
}

// TestAUnitGoesOnWithWhatAnotherHasWritten: journal and documents are those of the version
// before, or of the one after, when an upgrade is taken back.
func TestAUnitGoesOnWithWhatAnotherHasWritten(t *testing.T) {
	t.Parallel()
	all := versions(t)
	for first, second := range map[string]string{"before": "now", "now": "before"} {
		t.Run("first "+first, func(t *testing.T) {
			t.Parallel()
			dir, replace := application(t, all[first], all["now"])
			toskose := filepath.Join(all["now"], "toskose")
			run(t, toskose, dir, []step{{"run api configure", "", 0}, {"up --timeout 1m", "", 0}})
			replace(all[second])
			run(t, toskose, dir, []step{
				{"wait api --for started --timeout 1m", "", 0}, // by the goal that the unit has kept
				{"history", "configure", 0},
				{"goal", "up", 0},
			})
		})
	}
}

// step is a command, what it prints and its exit code.
type step struct {
	args string
	says string
	code int
}

// live runs the commands of a day.
func live(t *testing.T, toskose, dir string) {
	t.Helper()
	run(t, toskose, dir, []step{
		{"ps", "created", 0},
		{"run api configure -i code=3", "3", 1},
		{"run api configure", "", 0},
		{"ps", "configured", 0},
		{"up --timeout 1m", "", 0},
		{"wait api --for started --timeout 1m", "", 0},
		{"goal", "up", 0},
		{"ps -o json", `"started"`, 0},
		{"top", "started", 0},
		{"logs --tail 5", "up", 0},
		{"history", "start", 0},
		{"events", "", 0},
		{"restart api", "", 0},
		{"run api stop", "", 0},
		{"ps", "configured", 0},
	})
}

func run(t *testing.T, toskose, dir string, steps []step) {
	t.Helper()
	for _, step := range steps {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		words := strings.Fields(step.args)
		args := append([]string{words[0], "--dir", dir}, words[1:]...)
		cmd := exec.CommandContext(ctx, toskose, args...)
		cmd.Env = append(os.Environ(), "TOSKOSE_CONFIG="+filepath.Join(dir, "contexts"))
		out, err := cmd.CombinedOutput()
		cancel()
		if code := cmd.ProcessState.ExitCode(); (code == 0) != (step.code == 0) || !strings.Contains(string(out), step.says) {
			t.Errorf("toskose %s exits with %d (%v) and prints\n%s", step.args, code, err, out)
		}
	}
}
