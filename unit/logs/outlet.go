package logs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// pipeBuf is the size of an atomic write to a pipe (PIPE_BUF).
	pipeBuf = 4096
	// outletKeep is how much memory is kept when the queue is empty.
	outletKeep = 64 << 10
	// formatted is how much formatted text is collected before it is written.
	formatted = 64 << 10
)

// The timeouts of Flush: for the next bytes to be accepted, and in total.
const (
	flushPatience = time.Second
	flushMost     = 5 * time.Second
)

// outlet is the unit's own stdout or stderr, or a pipe or terminal used as a log. Writes are queued
// in order, and a goroutine, which lives as long as the queue is not empty, waits for the reader.
// The outlet does not open /dev/stdout, which fails for a socket and for another user's pipe, and
// does not make the descriptor non-blocking, since other processes share it.
type outlet struct {
	fd    int           // the shared descriptor
	file  *os.File      // nil: fd is used
	taken atomic.Uint64 // bytes, updated with every write

	mu      sync.Mutex
	queue   []byte
	parts   []part        // of the queue, in order
	writing bool          // the goroutine is running
	drained chan struct{} // closed when the queue is empty; nil without waiters
	retired bool          // close the file when the queue is empty
	stats   Stats

	// Owned by the goroutine:
	spareQueue []byte
	spareParts []part
	text       []byte
}

// part is the data of one write in the queue.
type part struct {
	spool  *Spool
	lines  *Lines // formats the data; nil: unchanged
	size   int
	at     time.Time
	flush  bool // the last line ends here
	missed missed
}

// missed counts the output dropped before a part.
type missed struct{ lines, bytes int }

// outlets returns the unit's stdout and stderr. They are shared by all writers, and identical if
// both are the same file or pipe.
var outlets = sync.OnceValue(func() [2]*outlet {
	out, err := &outlet{fd: 1}, &outlet{fd: 2}
	if sameFile(out.fd, err.fd) {
		err = out
	}
	return [2]*outlet{out, err}
})

func sameFile(a, b int) bool {
	var first, second unix.Stat_t
	return unix.Fstat(a, &first) == nil && unix.Fstat(b, &second) == nil &&
		first.Dev == second.Dev && first.Ino == second.Ino
}

// outletOf returns the outlet for a path, or nil.
func outletOf(path string) *outlet {
	switch path {
	case "/dev/stdout", "/proc/self/fd/1", "/dev/fd/1":
		return outlets()[0]
	case "/dev/stderr", "/proc/self/fd/2", "/dev/fd/2":
		return outlets()[1]
	}
	return nil
}

// Flush waits until the readers of the container's output, pipes and terminals have accepted all
// queued data: at most five seconds, and at most one second for a reader that accepts nothing.
func Flush() {
	deadline := time.Now().Add(flushMost)
	own := outlets()
	var all sync.WaitGroup
	for _, o := range append(openDevices(), own[:]...) {
		all.Go(func() { o.flush(deadline, time.After) })
	}
	all.Wait()
}

func (o *outlet) flush(deadline time.Time, after func(time.Duration) <-chan time.Time) {
	for {
		before := o.taken.Load()
		select {
		case <-o.waitDrained():
			return
		case <-after(min(flushPatience, time.Until(deadline))):
			if o.taken.Load() == before || time.Now().After(deadline) {
				return
			}
		}
	}
}

// waitDrained returns a channel that is closed when the queue is empty.
func (o *outlet) waitDrained() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.drained == nil {
		o.drained = make(chan struct{})
	}
	empty := o.drained
	if !o.writing {
		close(o.drained)
		o.drained = nil
	}
	return empty
}

// enqueue queues a part with its data. It never waits for the reader.
func (o *outlet) enqueue(p part, data []byte) (ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := p.spool
	if len(data) > 0 && s.waiting+len(data) > spoolMost {
		s.missed.lines += bytes.Count(data, newline)
		s.missed.bytes += len(data)
		o.stats.Dropped += uint64(len(data))
		return false
	}
	p.size = len(data)
	o.queue = append(o.queue, data...)
	o.add(p)
	if !o.writing {
		o.writing = true
		go o.run()
	}
	return true
}

var newline = []byte{'\n'}

// add is called with the lock held.
func (o *outlet) add(p part) {
	s := p.spool
	p.missed, s.missed = s.missed, missed{}
	o.parts = append(o.parts, p)
	s.waiting += p.size
	if s.waiting >= spoolFull && s.notFull == nil {
		s.notFull = make(chan struct{})
	}
}

// run is the goroutine.
func (o *outlet) run() {
	for {
		queue, parts := o.next()
		if len(parts) == 0 {
			return
		}
		for _, p := range parts {
			o.deliver(p, queue[:p.size])
			queue = queue[p.size:]
		}
		clear(parts)
	}
}

// next takes the queue. If it is empty, the goroutine ends.
func (o *outlet) next() ([]byte, []part) {
	o.mu.Lock()
	defer o.mu.Unlock()
	queue, parts := o.queue, o.parts
	if len(parts) == 0 {
		o.writing = false
		if o.drained != nil {
			close(o.drained)
			o.drained = nil
		}
		if o.retired {
			o.close()
		}
		if cap(queue)+cap(o.spareQueue) > outletKeep {
			o.queue, o.parts, o.spareQueue, o.spareParts, o.text = nil, nil, nil, nil, nil
		}
		return nil, nil
	}
	o.queue, o.parts = o.spareQueue[:0], o.spareParts[:0]
	o.spareQueue, o.spareParts = queue, parts
	return queue, parts
}

// deliver writes a part and makes room in its spool.
func (o *outlet) deliver(p part, data []byte) {
	if p.missed.bytes > 0 {
		if p.lines != nil {
			p.lines.end()
		}
		o.text = append(o.text, p.spool.droppedNote(p.at, p.missed)...)
	}
	if p.lines == nil {
		o.send()
		o.write(data)
	} else {
		p.lines.format(p, data)
		o.send()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s := p.spool
	s.waiting -= p.size
	if s.notFull != nil && s.waiting <= spoolFull/2 {
		close(s.notFull)
		s.notFull = nil
	}
	if s.waiting == 0 && s.missed.bytes > 0 {
		o.add(part{spool: s, at: p.at}) // nothing follows the dropped lines: write the note now
	}
}

// send writes the formatted text.
func (o *outlet) send() {
	if len(o.text) > 0 {
		o.write(o.text)
		o.text = o.text[:0]
	}
}

// write waits for the reader. After an error, such as a closed reader or a full disk, the next
// write may succeed.
func (o *outlet) write(text []byte) {
	var failed error
	size, left := len(text), text
	for len(left) > 0 && failed == nil {
		n, err := o.writeOnce(wholeLines(left))
		left = left[max(n, 0):]
		o.taken.Add(uint64(max(n, 0)))
		switch {
		case errors.Is(err, unix.EAGAIN):
			// Another process sharing it has made it non-blocking.
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(o.fd), Events: unix.POLLOUT}}, -1)
		case err != nil && !errors.Is(err, unix.EINTR):
			failed = fmt.Errorf("cannot write the output: %w", err)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stats.Written += uint64(size - len(left))
	o.stats.Dropped += uint64(len(left))
	o.stats.Err = failed
}

func (o *outlet) writeOnce(text []byte) (int, error) {
	if o.file != nil {
		return o.file.Write(text)
	}
	return unix.Write(o.fd, text)
}

// wholeLines returns as many lines as an atomic write takes, so that lines of other writers do not
// come between.
func wholeLines(text []byte) []byte {
	if len(text) <= pipeBuf {
		return text
	}
	if end := bytes.LastIndexByte(text[:pipeBuf], '\n'); end >= 0 {
		return text[:end+1]
	}
	return text[:pipeBuf]
}
