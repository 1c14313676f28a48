package logs

import (
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/toskose/toskose/unit/safepath"
)

// devices are the pipes and terminals that have queued output, or may have.
var devices struct {
	sync.Mutex
	open map[*outlet]bool
}

// openDevice returns an outlet for a pipe or terminal, whose reader may block, or nil for other
// files.
func openDevice(out *os.File, info fs.FileInfo) *outlet {
	if info.Mode().IsRegular() || out.SetWriteDeadline(time.Time{}) != nil { // files that take no deadline, such as /dev/null, never block
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

// closeWhenEmpty closes the file once the queue is written, or after a timeout.
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

// close cancels a blocked write.
func (o *outlet) close() {
	_ = o.file.Close()
	devices.Lock()
	defer devices.Unlock()
	delete(devices.open, o)
}

// failed reports whether the last write failed, which is permanent for a terminal that hung up.
func (o *outlet) failed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stats.Err != nil
}

// flagsOf returns the flags for opening a log. A named pipe is also opened for reading, so that
// opening succeeds and data is kept while it has no reader. Opening must not block or acquire a
// controlling terminal.
func flagsOf(path string, how int) int {
	const never = syscall.O_NONBLOCK | syscall.O_NOCTTY
	if info, err := safepath.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return os.O_RDWR | never
	}
	return os.O_CREATE | os.O_WRONLY | os.O_APPEND | never | how
}
