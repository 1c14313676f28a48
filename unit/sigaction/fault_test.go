package sigaction

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// siginfo is the beginning of the kernel's siginfo_t, which has 128 bytes.
type siginfo struct {
	signal, errno, code int32
	rest                [116]byte
}

func TestAFaultThatAProcessHasSentIsIgnoredAndTheUnitsOwnIsNot(t *testing.T) {
	t.Parallel()
	for range 2 { // the second time there is nothing to do
		if err := IgnoreSentFaults(); err != nil {
			t.Fatal(err)
		}
	}
	for _, sig := range faultSignals {
		for range 100 {
			if err := syscall.Kill(os.Getpid(), sig); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Tgkill(os.Getpid(), unix.Gettid(), sig); err != nil {
				t.Fatal(err)
			}
			if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
				continue
			}
			const queued = -1 // SI_QUEUE
			info := siginfo{signal: int32(sig), code: queued}
			_, _, errno := unix.Syscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(os.Getpid()), uintptr(sig), uintptr(unsafe.Pointer(&info)))
			if errno != 0 && !errors.Is(errno, unix.EAGAIN) {
				t.Fatal(errno)
			}
		}
	}
	defer func() {
		if _, ok := recover().(runtime.Error); !ok {
			t.Error("a pointer that is nil did not panic")
		}
	}()
	var nothing *int
	t.Error(*nothing)
}
