package sigaction

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestSignalsThatTheRuntimeLeavesAloneDoNotEndTheUnit(t *testing.T) {
	t.Parallel()
	if err := Set(lastUnhandled, Action{handler: ignored}); err != nil { // as from a parent that ignores it
		t.Fatal(err)
	}
	if err := HandleRealtime(); err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	set := func(name string) uint64 {
		_, after, _ := strings.Cut(string(status), name+":")
		line, _, _ := strings.Cut(after, "\n")
		bits, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return bits
	}
	caught, unheard := set("SigCgt"), set("SigIgn")
	for sig := firstUnhandled; sig <= lastUnhandled; sig++ {
		bit := uint64(1) << (sig - 1)
		if caught&bit == 0 || unheard&bit != 0 {
			t.Errorf("signal %d: caught %t, ignored, as children would inherit it, %t", sig, caught&bit != 0, unheard&bit != 0)
			continue
		}
		if sig == 33 { // the runtime's own, or libc's, which take it for theirs
			continue
		}
		for range 1000 {
			if err := syscall.Kill(os.Getpid(), sig); err != nil {
				t.Fatal(err)
			}
		}
	}
}
