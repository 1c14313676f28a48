package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// within runs the unit's binary in the namespaces of a container, as `docker exec` does.
func (c *container) within(args ...string) (string, error) {
	c.t.Helper()
	words := append([]string{"-t", fmt.Sprint(c.cmd.Process.Pid), "-p", "-m", "--", unitBinary}, args...)
	cmd := exec.Command("nsenter", words...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "OURS=1"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestExecRunsAsTheProcessesOfAComponentDo compares what a start sees with what a command of exec sees.
func TestExecRunsAsTheProcessesOfAComponentDo(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, for namespaces")
	}
	const show = `id -u; pwd; env | grep -E "^(INPUT_|MODE|SECRET|GIVEN|SUPERVISORD_)" | sort`
	c := newContainer(t, component("api", map[string]string{"start": `(` + show + `) > seen; sleep 600`},
		"user=nobody\nenvironment=MODE=\"production\"\ntoskose_inputs={\"port\":\"80\"}\ntoskose_secret_environment={\"SECRET\":\"DIR/secret\"}"))
	c.write("secret", "s3cret\n")
	c.env = append(c.env, "GIVEN=by the container")
	if err := os.Chmod(c.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for dir := c.dir; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	c.boot()
	c.run("api", "start")
	c.until("seen", "SECRET")
	got, err := c.within("exec", "api", "--", "sh", "-c", show)
	if want := c.read("seen"); err != nil || got != want || !strings.Contains(got, "SECRET=s3cret") || !strings.Contains(got, "INPUT_port=80") {
		t.Errorf("exec sees\n%s%v\nand the component\n%s", got, err, want)
	}
	if out, err := c.within("exec", "apl"); err == nil || !strings.Contains(out, `no component is named "apl"; there are api`) {
		t.Errorf("an unknown component: %v, %s", err, out)
	}
	if out, err := c.within("exec"); err == nil || !strings.Contains(out, "needs a COMPONENT") {
		t.Errorf("no component: %v, %s", err, out)
	}
}
