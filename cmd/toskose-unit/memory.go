package main

import (
	"bufio"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/config"
)

// gcPercent makes Go collect garbage early. The default of 100 lets a heap of some hundred
// kilobytes grow to 4 MB, and every container has a unit.
const gcPercent = 25

// gcPercentOf returns the percentage for a configuration. A collection scans the stacks of all
// goroutines, three per program, so with many programs Go's default is better.
func gcPercentOf(c *config.Config) int {
	const many, normal = 100, 100
	programs := 0
	for _, g := range c.Groups {
		programs += len(g.Programs)
	}
	if programs > many {
		return normal
	}
	return gcPercent
}

// The unit is idle when it has received no request for idleTime, after its start or after at least
// idleCalls requests. Releasing memory takes as long as starting, and the next request has to page
// memory in again, so it must be worthwhile.
const (
	idleTime  = time.Second / 4
	idleCalls = 1000
)

// idleWatch detects when the unit becomes idle.
type idleWatch struct {
	onIdle func()

	calls   atomic.Int64 // requests since it was last idle
	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

// watchIdle calls onIdle whenever the unit becomes idle, first after its start.
func watchIdle(onIdle func()) *idleWatch {
	w := &idleWatch{onIdle: onIdle}
	w.await()
	return w
}

// count returns a handler that counts requests.
func (w *idleWatch) count(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.calls.Add(1) == idleCalls {
			w.await()
		}
		handler.ServeHTTP(rw, r)
	})
}

// await starts the timer for the next idle time.
func (w *idleWatch) await() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil || w.stopped {
		return
	}
	before := w.calls.Load()
	w.timer = time.AfterFunc(idleTime, func() {
		w.mu.Lock()
		w.timer = nil
		w.mu.Unlock()
		if w.calls.Load() != before {
			w.await()
			return
		}
		w.onIdle()
		w.calls.Store(0)
	})
}

// stop ends the watch.
func (w *idleWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// releaseMemory returns free heap and the pages of the executable to the kernel,
// which halves the resident memory of an idle unit. Pages that are needed again
// come from the page cache.
func releaseMemory() {
	debug.FreeOSMemory()
	path, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		// proc_pid_maps(5): START-END PERMISSIONS OFFSET DEVICE INODE PATH
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[5] != path || strings.Contains(fields[1], "w") {
			continue // private data would be lost
		}
		first, last, _ := strings.Cut(fields[0], "-")
		begin, err := strconv.ParseUint(first, 16, strconv.IntSize)
		if err != nil {
			continue
		}
		end, err := strconv.ParseUint(last, 16, strconv.IntSize)
		if err != nil || end < begin {
			continue
		}
		// Not unix.Madvise, which takes a slice of Go's memory. If the kernel refuses, the pages
		// stay.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(begin), uintptr(end-begin), unix.MADV_DONTNEED)
	}
}
