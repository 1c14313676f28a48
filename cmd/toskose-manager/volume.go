package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/toskose/toskose/packager/volumes/tree"
)

var errVolume = errors.New("it is `volume tar FOLDER`, `volume untar FOLDER`, `volume recover FOLDER` or `volume hold`")

// Variables of the program's container by which `toskose volume` requests features that earlier
// releases do not have.
const (
	// envSummary requests a summary at the end of a stream. The program then ends when its
	// stdin does.
	envSummary = "TOSKOSE_VOLUME_SUMMARY"
	// envToken is the token of a restore, which its caller keeps. The program then reports
	// on stdout which data the volume has, and waits for a line that confirms it.
	envToken = "TOSKOSE_VOLUME_TOKEN" //nolint:gosec // the name of a variable
)

// volume writes the contents of a folder as a tar stream, or replaces the contents with those of a
// tar stream. `toskose volume` runs it in a separate container; on Kubernetes, it runs next to a
// container that mounts the volume.
func volume(ctx context.Context, args []string, getenv func(string) string, in io.Reader, out io.Writer) error {
	if len(args) == 1 && args[0] == "hold" {
		return hold(ctx, "/proc", unheld, time.Second)
	}
	if len(args) != 2 {
		return errVolume
	}
	token := getenv(envToken)
	report := json.NewEncoder(out)
	var err error
	switch verb := args[0]; {
	case verb == "tar" && getenv(envSummary) != "":
		err = attended(in, func() error { return tree.WriteWithSummary(out, args[1]) })
	case verb == "tar":
		err = tree.Write(out, args[1])
	case verb == "untar" && token != "":
		confirm := func() error {
			_, err := io.ReadFull(in, make([]byte, 1))
			return err
		}
		err = tree.Replace(in, args[1], token, func(r tree.Report) error { return report.Encode(r) }, confirm)
	case verb == "untar":
		err = tree.ReplaceUnobserved(in, args[1])
	case verb == "recover" && token != "":
		err = tree.Recover(args[1], token, func(r tree.Report) error { return report.Encode(r) })
	default:
		return errVolume
	}
	if err != nil {
		return fmt.Errorf("volume %s: %w", args[0], err)
	}
	return nil
}

var errUnattended = errors.New("the command that reads the volume has ended")

// attended calls a function and returns early if stdin is closed, which means that the client was
// killed.
func attended(in io.Reader, do func() error) error {
	done, ended := make(chan error, 1), make(chan struct{})
	go func() { done <- do() }()
	go func() {
		_, _ = io.Copy(io.Discard, in) // only its end matters
		close(ended)
	}()
	select {
	case err := <-done:
		return err
	case <-ended:
		return errUnattended
	}
}

// unheld is the time without another process after which a container that holds a volume exits.
const unheld = time.Minute

// hold blocks until the context ends, or until no other process has run in its container for a
// while: then the copying client is gone.
func hold(ctx context.Context, proc string, unheld, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	idle := time.NewTimer(unheld)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-idle.C:
			return nil
		case <-ticker.C:
			others, err := processes(proc)
			if err != nil {
				return fmt.Errorf("volume hold: %w", err)
			}
			if others > 1 {
				idle.Reset(unheld)
			}
		}
	}
}

// processes returns the number of processes in the container.
func processes(proc string) (n int, err error) {
	entries, err := os.ReadDir(proc)
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			n++
		}
	}
	return n, err
}
