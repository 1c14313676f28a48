package logs

import (
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/toskose/toskose/unit/safepath"
)

// devices are the pipes and terminals that have something to write, or may have.
var devices struct {
	sync.Mutex
	open map[*outlet]bool
}

// openDevice makes an outlet of a file whose reader may have to be waited for; nil:
// it is none of these.
func openDevice(out *os.File, info fs.FileInfo) *outlet {
	if info.Mode().IsRegular() || out.SetWriteDeadline(time.Time{}) != nil { // what takes no deadline, such as /dev/null, never waits
		return nil
	}
	o := &outlet{file: out}
	devices.Lock()
	defer devices.Unlock()
	if devices.open == nil {
		devices.open = map[*outlet]bool{}
	}
	devices.open[o] = true
	return o
}

// openDevices returns the outlets that are not closed.
func openDevices() []*outlet {
	devices.Lock()
	defer devices.Unlock()
	var all []*outlet
	for o := range devices.open {
		all = append(all, o)
	}
	return all
}

// retire closes the file once all that is queued was taken, or when that takes too long.
func (o *outlet) closeWhenEmpty() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.retired = true
	if !o.writing {
		o.close()
		return
	}
	time.AfterFunc(flushMost, o.close)
}

// close ends a write that waits.
func (o *outlet) close() {
	_ = o.file.Close()
	devices.Lock()
	defer devices.Unlock()
	delete(devices.open, o)
}

// failed reports whether the last write failed, as it does for good where a
// terminal was hung up.
func (o *outlet) failed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stats.Err != nil
}

// flagsOf returns how a log is opened. A named pipe is opened for reading, too, so
// that it can be opened, and keeps what is written, while it has no reader. Nothing
// that is opened is to block us, or to become our terminal.
func flagsOf(path string, how int) int {
	const never = syscall.O_NONBLOCK | syscall.O_NOCTTY
	if info, err := safepath.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return os.O_RDWR | never
	}
	return os.O_CREATE | os.O_WRONLY | os.O_APPEND | never | how
}
