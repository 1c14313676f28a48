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
)

// gcPercent is how much garbage is kept beside what is in use. Go's default of
// 100 lets even a heap of some hundred kilobytes grow to 4 MB before it collects.
const gcPercent = 25

// thrift makes the process collect its garbage early: a unit has little to do
// and is in every container.
func thrift() { debug.SetGCPercent(gcPercent) }

// A pause is so long without a call, after so many calls or the start. To give
// memory back takes as long as all of the start, and the next caller waits for
// some of it to be read again, so it has to be worth it.
const (
	pauseTime  = time.Second / 4
	pauseCalls = 1000
)

// pauses sees when the unit has nothing to do any more.
type pauses struct {
	begun func() // called at each

	calls atomic.Int64 // since the last one
	mu    sync.Mutex
	timer *time.Timer
	ended bool
}

// newPauses begins to wait for the first pause, that after the start.
func newPauses(begun func()) *pauses {
	p := &pauses{begun: begun}
	p.await()
	return p
}

// count makes a handler whose calls count.
func (p *pauses) count(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.calls.Add(1) == pauseCalls {
			p.await()
		}
		handler.ServeHTTP(w, r)
	})
}

func (p *pauses) await() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil || p.ended {
		return
	}
	before := p.calls.Load()
	p.timer = time.AfterFunc(pauseTime, func() {
		p.mu.Lock()
		p.timer = nil
		p.mu.Unlock()
		if p.calls.Load() != before {
			p.await()
			return
		}
		p.begun()
		p.calls.Store(0)
	})
}

// end lets no further pause begin.
func (p *pauses) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// forget gives back the memory that the work until now took and the next may
// not: free heap, and the pages of the executable that were read meanwhile.
// Those that are needed again come from the page cache.
func forget() {
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
			continue // what is not of the file alone would be lost
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
		// Not unix.Madvise: these are no bytes of Go's to make a slice of. Where
		// the kernel refuses, the pages stay.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(begin), uintptr(end-begin), unix.MADV_DONTNEED)
	}
}
