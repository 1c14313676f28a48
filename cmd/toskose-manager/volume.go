package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/toskose/toskose/packager/volumes/tree"
)

var errVolume = errors.New("it is `volume tar FOLDER`, `volume untar FOLDER` or `volume hold`")

// volume writes what is in a folder as a tar stream, or replaces it by what one has. It is
// for `toskose volume`, which runs it in a container of its own, on Kubernetes beside one
// that holds the volume.
func volume(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 1 && args[0] == "hold" {
		return hold(ctx, "/proc", unheld, time.Second)
	}
	if len(args) != 2 {
		return errVolume
	}
	var err error
	switch args[0] {
	case "tar":
		err = tree.Write(out, args[1])
	case "untar":
		err = tree.Replace(in, args[1])
	default:
		return errVolume
	}
	if err != nil {
		return fmt.Errorf("volume %s: %w", args[0], err)
	}
	return nil
}

// unheld is after how long without another process a container ends that holds a volume.
const unheld = time.Minute

// hold waits until it is told to end, or has been the only process of its container for a
// while: then whoever was to copy has gone.
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

// processes counts those of the container.
func processes(proc string) (n int, err error) {
	entries, err := os.ReadDir(proc)
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			n++
		}
	}
	return n, err
}
