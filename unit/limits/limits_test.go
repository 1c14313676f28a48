package limits_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/toskose/toskose/unit/limits"
	"github.com/toskose/toskose/unit/limits/original"
)

// raisedEnv makes the test binary show its limits, once it has raised them to what the variable says.
const raisedEnv = "LIMITS_TEST_MINFDS"

func TestMain(m *testing.M) {
	if least := os.Getenv(raisedEnv); least != "" {
		if err := show(least); err != nil {
			fmt.Println(err)
		}
		return
	}
	m.Run()
}

// show prints the soft limits of open files: that which this process was started with, its
// own now, and its children's.
func show(least string) error {
	var minFDs int
	if _, err := fmt.Sscan(least, &minFDs); err != nil {
		return err
	}
	if err := limits.Raise(minFDs, 0); err != nil {
		return err
	}
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		return err
	}
	childs, err := exec.Command("sh", "-c", "ulimit -Sn").Output()
	fmt.Println(original.Files(), now.Cur, strings.TrimSpace(string(childs)))
	return err
}

// It depends on what Go does with this limit, and on the order in which it initializes
// packages, so it fails where a release of Go does that in another way.
func TestChildrenGetTheLimitThatTheUnitWasStartedWithUnlessItIsTooLow(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for least, want := range map[string]string{
		"200": "300 399 300", // Go raises its own to one below the hard limit
		"350": "300 350 350",
	} {
		cmd := exec.Command("sh", "-c", `ulimit -Sn 300; ulimit -Hn 400; exec "$0"`, self)
		cmd.Env = append(os.Environ(), raisedEnv+"="+least)
		out, err := cmd.Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("minfds=%s: the limits at the start, of the unit and of its children are %s, want %s; %v", least, got, want, err)
		}
	}
}
