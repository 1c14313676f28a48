package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/cmd/toskose/cli"
)

func TestAFullDiskLeavesWhatWasThere(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	s := newShop(t)
	disk := filepath.Join(s.dir, "made")
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		// Whoever looks into it at this moment keeps it busy.
		deadline := time.Now().Add(time.Minute)
		err := syscall.Unmount(disk, 0)
		for errors.Is(err, syscall.EBUSY) && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
			err = syscall.Unmount(disk, 0)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if code := s.run(t.Context(), toRegistry...); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &s.err)
	}
	before := s.contents()
	s.file("made/full", strings.Repeat("x", 1<<10))
	for { // fill what is left
		f, err := os.OpenFile(filepath.Join(disk, "full"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(strings.Repeat("x", 1<<10))
		f.Close()
		if err != nil {
			break
		}
	}
	s.file("shop.yml", "nodes: {web: {port: 9999, docker: {name: "+s.host+"/team/web}}}\nmanager: {docker: {name: "+s.host+"/team/manager}}\n")
	code := s.run(t.Context(), toRegistry...)
	if said := s.err.String(); code != cli.ExitFailed || !strings.HasPrefix(said, `toskose: cannot write to "`) || !strings.Contains(said, "no space left") || strings.Count(said, "\n") != 1 {
		t.Errorf("exit code %d, said %s", code, said)
	}
	if after := s.contents(); !slices.Equal(before, after) {
		t.Errorf("it was\n%q\nand is\n%q", before, after)
	}
}
