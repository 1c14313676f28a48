package logs

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/wire"
)

const (
	// consoleQueue is how many bytes wait for the reader of one stream of the
	// container's output before lines are dropped.
	consoleQueue = 1 << 20
	// noteRoom is more than the line takes that says what was dropped.
	noteRoom = 256
	// consoleKeep is the largest queue whose memory is kept when it is empty.
	consoleKeep = 64 << 10
	// consoleFlush is how long Close waits for the reader.
	consoleFlush = time.Second
)

// ConsoleOptions are what a Console is made of.
type ConsoleOptions struct {
	Now func() time.Time // the time of a line; nil: time.Now
	// Dropping is told once, when the first line since the reader last kept up
	// is dropped; nil: nobody is.
	Dropping func(stream wire.Stream)

	flush time.Duration // how long Close waits for the reader; consoleFlush
}

// Console is the container's own output, to which the lines of programs are
// copied. A line waits in a bounded queue for its reader, however slow that
// is, and is written as a whole. What the queue has no room for is dropped,
// counted, and said once, in its place. Writers never wait. Two goroutines, one
// for each stream, live until Close.
type Console struct {
	now            func() time.Time
	stdout, stderr *feed
	once           sync.Once
}

// NewConsole starts copying to the process's stdout and stderr. Where both are
// one file or pipe, everything goes to the first, in one order.
func NewConsole(o ConsoleOptions) (*Console, error) {
	return newConsole(o, stdout, stderr)
}

func newConsole(o ConsoleOptions, out, err *stdStream) (*Console, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.flush == 0 {
		o.flush = consoleFlush
	}
	c := &Console{now: o.Now}
	var startErr error
	if c.stdout, startErr = startFeed(out, wire.Stdout, o); startErr != nil {
		return nil, startErr
	}
	if sameFile(out.fd, err.fd) {
		c.stderr = c.stdout
		return c, nil
	}
	if c.stderr, startErr = startFeed(err, wire.Stderr, o); startErr != nil {
		c.stdout.stop()
		c.stdout.close()
		return nil, startErr
	}
	return c, nil
}

func sameFile(a, b int) bool {
	var first, second unix.Stat_t
	return unix.Fstat(a, &first) == nil && unix.Fstat(b, &second) == nil &&
		first.Dev == second.Dev && first.Ino == second.Ino
}

// Close writes what waits, as far as the reader takes it within a second, and
// ends both goroutines. Lines that come later are dropped.
func (c *Console) Close() {
	c.once.Do(func() {
		c.stdout.stop()
		if c.stderr != c.stdout {
			c.stderr.stop()
			c.stderr.close()
		}
		c.stdout.close()
	})
}

// Stats count the bytes that one stream of the container's output took, and
// did not take. Where both streams are one, both have the same.
func (c *Console) Stats(stream wire.Stream) Stats {
	f := c.feed(stream)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

func (c *Console) feed(stream wire.Stream) *feed {
	if stream == wire.Stderr {
		return c.stderr
	}
	return c.stdout
}

// feed is the queue of one stream and the goroutine that empties it.
type feed struct {
	to       *stdStream
	stream   wire.Stream
	o        ConsoleOptions
	wake     int           // an eventfd that ends the wait for the reader
	work     chan struct{} // holds one when the goroutine has something to do
	done     chan struct{}
	deadline time.Time // of the goroutine: until when the reader is waited for; zero: for ever

	mu       sync.Mutex
	queue    []byte
	ends     []int // where each line of the queue ends
	lost     int   // lines dropped since the last that was queued
	lostSize int   // their bytes
	lostHow  format
	closed   bool
	stats    Stats
	telling  sync.WaitGroup
}

func startFeed(to *stdStream, stream wire.Stream, o ConsoleOptions) (*feed, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("cannot copy to the container's output: eventfd: %w", err)
	}
	f := &feed{to: to, stream: stream, o: o, wake: wake, work: make(chan struct{}, 1), done: make(chan struct{})}
	go f.run()
	return f, nil
}

// put queues a line that ends with a newline, or drops it. It tells which.
func (f *feed) put(line []byte, how format) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || len(f.queue)+noteRoom+len(line) > consoleQueue {
		f.lost++
		f.lostSize += len(line)
		f.lostHow = how
		f.stats.Dropped += uint64(len(line))
		if f.lost == 1 && !f.closed && f.o.Dropping != nil {
			// Who is told may write to this very output, and wait for it.
			f.telling.Go(func() { f.o.Dropping(f.stream) })
		}
		return false
	}
	f.add(f.note(how))
	f.add(line)
	f.prod()
	return true
}

// add and note are called with the lock held.
func (f *feed) add(line []byte) {
	if len(line) > 0 {
		f.queue = append(f.queue, line...)
		f.ends = append(f.ends, len(f.queue))
		f.lost, f.lostSize = 0, 0
	}
}

// note is the line that says how much is missing before the next one.
func (f *feed) note(how format) []byte {
	if f.lost == 0 {
		return nil
	}
	return how.dropped(f.o.Now(), f.stream, f.lost, f.lostSize)
}

func (f *feed) prod() {
	select {
	case f.work <- struct{}{}:
	default:
	}
}

// run is the goroutine.
func (f *feed) run() {
	defer close(f.done)
	var queue []byte
	var ends []int
	for range f.work {
		closed := false
		for !closed {
			f.mu.Lock()
			f.queue, queue = queue[:0], f.queue
			f.ends, ends = ends[:0], f.ends
			closed = f.closed
			if len(ends) == 0 && f.lost > 0 {
				// Nothing came after what was dropped: say it now.
				f.add(f.note(f.lostHow))
				queue, f.queue = f.queue, nil
				ends, f.ends = f.ends, nil
			}
			f.mu.Unlock()
			if len(ends) == 0 {
				break
			}
			if closed && f.deadline.IsZero() {
				f.deadline = time.Now().Add(f.o.flush)
			}
			if !f.write(queue, ends) {
				return // closed, and nobody reads
			}
			if cap(queue) > consoleKeep {
				queue, ends = nil, nil
			}
		}
		if closed {
			return
		}
	}
}

// write writes as many whole lines at once as a pipe takes in one piece.
func (f *feed) write(queue []byte, ends []int) bool {
	begin := 0
	for len(ends) > 0 {
		n := 1
		for n < len(ends) && ends[n]-begin <= pipeBuf {
			n++
		}
		f.to.turn <- struct{}{} // whoever has it waits for patience at most
		written, err := f.to.write(queue[begin:ends[n-1]], f.writable)
		<-f.to.turn
		stalled := errors.Is(err, errStalled)
		if stalled {
			n = len(ends)
		}
		f.count(written, ends[n-1]-begin-written, err)
		if stalled {
			return false
		}
		// Any other error is the reader's end, or a full disk: the next may fare better.
		begin, ends = ends[n-1], ends[n:]
	}
	return true
}

func (f *feed) count(written, dropped int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Written += uint64(written)
	f.stats.Dropped += uint64(dropped)
	f.stats.Err = err
}

// writable waits for the reader: for ever, and from Close on for a second.
func (f *feed) writable() bool {
	for {
		fds := []unix.PollFd{{Fd: int32(f.to.fd), Events: unix.POLLOUT}, {Fd: int32(f.wake), Events: unix.POLLIN}}
		wait := -1
		if !f.deadline.IsZero() {
			fds, wait = fds[:1], int(max(time.Until(f.deadline), 0).Milliseconds())
		}
		n, err := unix.Poll(fds, wait)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return true // the write will say why
		case fds[0].Revents != 0:
			return true
		case n == 0:
			return false
		}
		f.deadline = time.Now().Add(f.o.flush) // woken: Close was called
	}
}

// stop makes the goroutine end once the queue is empty, or its reader late.
func (f *feed) stop() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	one := [8]byte{0: 1, 7: 1} // not zero in either order of bytes
	_, _ = unix.Write(f.wake, one[:])
	f.prod()
}

// close is called once, after stop.
func (f *feed) close() {
	<-f.done
	f.telling.Wait()
	unix.Close(f.wake)
}
