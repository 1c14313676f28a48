package manager_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
)

// onSmallDisk has the unit's logs and journal on a disk of 1 MiB, without rotation, and
// start print 588,895 bytes, then "after" when it is let.
func onSmallDisk(dir string, port uint16) []byte {
	return []byte(strings.NewReplacer(
		"toskose_journal="+dir, "toskose_journal="+dir+"/disk",
		"stdout_logfile="+dir+"/start.stdout.log", "stdout_logfile="+dir+"/disk/start.log\nstdout_logfile_maxbytes=0",
		"echo up; exec sleep 1000", "seq 1 100000; until test -e "+dir+"/more; do sleep 0.01; done; echo after; exec sleep 1000",
	).Replace(string(testunit.API(dir, port))))
}

// smallDisk mounts 1 MiB in a folder, of which it leaves as much free as is given.
// letGo gives back the rest.
func smallDisk(t *testing.T, disk string, free int) (letGo func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("it needs a file system of its own (run as root)")
	}
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no tmpfs can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20-free), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFullDiskUnderOutput(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the unit's binary; not with -short")
	}
	var letGo func()
	var folder string
	addr := testunit.Run(t, fakeunit.Password, func(dir string, port uint16) []byte {
		folder = dir
		letGo = smallDisk(t, filepath.Join(dir, "disk"), 400<<10)
		return onSmallDisk(dir, port)
	}).Addr
	app := application(t, fakeunit.Containers{"backend": {addr}}, manager.Options{})
	for _, operation := range []string{"configure", "Standard.start"} {
		if _, err := run(t, app, rest.RunRequest{Node: "backend", Component: "api", Operation: operation}); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "a full disk", func() bool {
		var s syscall.Statfs_t
		return syscall.Statfs(filepath.Join(folder, "disk"), &s) == nil && s.Bfree == 0
	})
	c, err := app.Component(t.Context(), "backend", "api", manager.WithProcesses)
	if err != nil || c.State != "started" || len(c.Replicas[0].Processes) == 0 {
		t.Errorf("on a full disk: %+v, %v", c, err)
	}
	if missing, units := app.Ready(); len(missing) != 1 || units != 1 { // the other node is not there at all
		t.Errorf("on a full disk %v is not ready, of %d units", missing, units)
	}
	var lost int64
	read := func() (lines []string) {
		r, err := app.Lines(t.Context(), rest.LogQuery{Of: []string{"api/Standard.start"}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for lost = 0; ; {
			entries, err := r.Next(t.Context())
			for _, e := range entries {
				switch e.Kind {
				case rest.LogPrinted:
					lines = append(lines, string(e.Line))
				case rest.LogLost:
					lost += e.Bytes
					if !strings.Contains(e.Why, "full disk") {
						t.Errorf("lost: %s", e.Why)
					}
				case rest.LogSilent:
					t.Error(e.Why)
				case rest.LogLive:
				}
			}
			if errors.Is(err, io.EOF) {
				return lines
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if lines := read(); len(lines) == 0 || lines[0] != "1" || lost != 0 {
		t.Errorf("on a full disk there are %d lines, and %d bytes are lost before them", len(lines), lost)
	}
	letGo()
	if err := os.WriteFile(filepath.Join(folder, "more"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var lines []string
	await(t, "what is printed later", func() bool {
		lines = read()
		return strings.HasSuffix(lines[len(lines)-1], "after")
	})
	size := int64(len(strings.Join(lines, "\n")) + 1)
	if all := int64(588_895 + len("after\n")); size+lost != all && size+lost != all+1 { // where a line was cut there are two
		t.Errorf("%d bytes of lines, %d are lost, of %d", size, lost, all)
	}
}

// await waits until something is so.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}
