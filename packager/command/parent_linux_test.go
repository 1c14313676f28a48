package command

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

// parent is set for the process that the test kills.
const parent = "TOSKOSE_TEST_PARENT"

// TestACommandEndsWithTheProcessThatIsKilled: the command keeps a pipe open, which
// ends with it.
func TestACommandEndsWithTheProcessThatIsKilled(t *testing.T) {
	t.Parallel()
	if os.Getenv(parent) != "" {
		cmd := exec.Command("sh", "-c", "echo started; exec sleep 600")
		cmd.Stdout = os.Stdout
		t.Fatal(Run(cmd, nil))
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), parent+"=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = lines.ReadString('\n') // until the pipe ends
	_ = cmd.Wait()                // it was killed
}
