// Command gotest runs `go test` and reports at the end which tests were skipped and why.
//
//	gotest ARGUMENTS
//
// It prints one line for each package, and the output of tests that fail or take long. With
// CI=true, a skipped test is a failure, as all tests must run there, and up to two failed
// tests are rerun, each separately. Tests that then pass are listed at the end with the
// output of the failure, and counted in the last line.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Getenv("CI") == "true", os.Stdout)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, ci bool, out io.Writer) int {
	report := newReport(out)
	if err := test(ctx, args, report); err != nil {
		report.broke(err)
	}
	if ci {
		report.again(2, runAgain(ctx, args), out)
	}
	return report.close(ci)
}

// test runs `go test -json`. It returns an error if go test cannot run; failed tests are in the
// report.
func test(ctx context.Context, args []string, report *report) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = errors.Join(report.read(stdout), cmd.Wait())
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == 1 && report.failed > 0 {
		return nil // the report has the failed tests
	}
	if err != nil {
		return fmt.Errorf("cannot test: %w", err)
	}
	return nil
}
