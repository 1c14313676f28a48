package logs

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/wire"
)

// pumpRead is the size of a read: the default capacity of a pipe on Linux.
const pumpRead = 64 << 10

// If a pipe was full, its writer may be blocked: enlarge the pipe and the reads. (Larger pipes for
// all are slower: data has left the cache by the time it is read.)
const (
	largePipe = 1 << 20 // the maximum for an unprivileged process (/proc/sys/fs/pipe-max-size)
	largeRead = 256 << 10
)

// buffers are shared: a pump has one only while there is something to read, so that a thousand
// quiet programs need none.
var (
	buffers = sync.Pool{New: func() any {
		buf := make([]byte, pumpRead)
		return &buf
	}}
	largeBuffers = sync.Pool{New: func() any {
		buf := make([]byte, largeRead)
		return &buf
	}}
)

// blockedWarning is how long a process is blocked before that is logged.
const blockedWarning = time.Second

// Pump copies one output stream of a process and its descendants from a pipe to a writer. It keeps
// the last bytes of the stream.
type Pump struct {
	to   io.Writer
	o    PumpOptions
	done chan struct{}
	over chan struct{} // closed at the end of the pipe, and by Close
	end  func()        // closes over

	mu     sync.Mutex // held from a read until its bytes are written, to keep the order
	fd     int        // our end of the pipe, until eof
	polled *os.File   // owns fd while Go's poller waits for it; nil while it is read at intervals
	size   int        // of the pipe
	tail   []byte     // up to twice wire.TailBytes
	cut    bool       // there was more before it
	eof    bool
}

// PumpOptions configure a Pump.
type PumpOptions struct {
	// Spools are the spools of the writer. While one of them is full, the pipe is not read, so
	// that the process blocks when the pipe is full too.
	Spools []Blocker
	// Blocked is called when the pipe has not been read for a second. May be nil.
	Blocked func()
}

// Start creates a pipe and a goroutine that copies it to a writer; nil discards. Errors of the
// writer are ignored, since it counts them. The caller closes the child's end once the child has
// been started.
func Start(to io.Writer, o PumpOptions) (p *Pump, child *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	// Only our end: a child does not expect its output to return EAGAIN.
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	p = &Pump{to: to, o: o, fd: fds[0], size: pumpRead, done: make(chan struct{}), over: make(chan struct{})}
	p.end = sync.OnceFunc(func() { close(p.over) })
	p.polled = os.NewFile(uintptr(p.fd), "pipe")
	go p.run()
	return p, os.NewFile(uintptr(fds[1]), "pipe"), nil
}

// run is the goroutine. It ends at the end of the pipe, or when the pump is closed.
func (p *Pump) run() {
	defer close(p.done)
	defer p.Flush()
	defer p.release()
	var c pacer
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		p.awaitRoom()
		n, size := p.wait(c.busy())
		if n < 0 {
			return
		}
		pause := c.next(n, size, time.Now())
		p.poll(!c.busy())
		if pause < time.Millisecond {
			// Go's timers are no finer than this while nothing else runs, and a fast writer fills
			// its pipe meanwhile.
			if pause > 0 {
				nap := unix.NsecToTimespec(pause.Nanoseconds())
				_ = unix.Nanosleep(&nap, nil)
			}
			continue
		}
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-p.over:
		}
	}
}

// wait reads once, after waiting for data unless busy. It returns the result of take and the size
// of the pipe.
func (p *Pump) wait(busy bool) (n, size int) {
	read := func(uintptr) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		n, size = p.take(largeRead), p.size
		return n != 0
	}
	if busy {
		read(0)
		return n, size
	}
	raw, err := p.polled.SyscallConn() // changed only by this goroutine
	if err == nil {
		err = raw.Read(read)
	}
	if err != nil {
		return -1, size
	}
	return n, size
}

// poll adds the pipe to Go's poller or removes it, since the poller would wake with every write.
func (p *Pump) poll(on bool) {
	if on == (p.polled != nil) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.eof {
		return
	}
	if on {
		p.polled = os.NewFile(uintptr(p.fd), "pipe")
		return
	}
	own, err := unix.FcntlInt(uintptr(p.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return
	}
	p.polled.Close()
	p.fd, p.polled = own, nil
	p.enlarge()
}

// release closes our end.
func (p *Pump) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.polled != nil {
		p.polled.Close()
	} else {
		unix.Close(p.fd)
	}
	p.eof = true
}

// room returns a channel that is closed when a full spool has room again; nil if none is full.
func (p *Pump) room() <-chan struct{} {
	for _, s := range p.o.Spools {
		if room := s.full(); room != nil {
			return room
		}
	}
	return nil
}

// awaitRoom blocks until no spool is full or the pump ends.
func (p *Pump) awaitRoom() {
	var timer <-chan time.Time
	for {
		room := p.room()
		if room == nil {
			return
		}
		if timer == nil && p.o.Blocked != nil {
			timer = time.After(blockedWarning)
		}
		select {
		case <-room:
		case <-p.over:
			return
		case <-timer:
			p.o.Blocked()
		}
	}
}

// take reads once and writes the data. It returns 0 if there is none now, and -1 at the end of the
// pipe. The caller holds the lock.
func (p *Pump) take(most int) int {
	if p.eof {
		return -1
	}
	pool := &buffers
	if p.size > pumpRead {
		pool = &largeBuffers
	}
	shared := pool.Get().(*[]byte)
	defer pool.Put(shared)
	buf := (*shared)[:min(most, len(*shared))]
	n, err := readPipe(p.fd, buf)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return 0
	case err != nil || n == 0:
		p.eof = true
		p.end()
		return -1
	}
	if n == pumpRead {
		p.enlarge()
	}
	p.keep(buf[:n])
	if p.to != nil {
		_, _ = p.to.Write(buf[:n]) // the writer counts what it drops
	}
	return n
}

// enlarge enlarges the pipe if that is permitted.
func (p *Pump) enlarge() {
	if p.size == pumpRead {
		if size, err := unix.FcntlInt(uintptr(p.fd), unix.F_SETPIPE_SZ, largePipe); err == nil {
			p.size = size
		}
	}
}

func readPipe(fd int, buf []byte) (n int, err error) {
	for {
		if n, err = unix.Read(fd, buf); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// keep updates the tail.
func (p *Pump) keep(data []byte) {
	p.cut = p.cut || len(p.tail)+len(data) > wire.TailBytes
	if len(data) > wire.TailBytes {
		data = data[len(data)-wire.TailBytes:]
	}
	if len(p.tail)+len(data) > 2*wire.TailBytes {
		p.tail = append(p.tail[:0], p.tail[len(p.tail)-(wire.TailBytes-len(data)):]...)
	}
	p.tail = append(p.tail, data...)
}

// Sync writes the current content of the pipe, unless the process is blocked.
func (p *Pump) Sync() {
	if p.room() == nil {
		p.Drain()
	}
}

// Drain writes the current content of the pipe, even if a spool is full. All output of a process is
// in the pipe once it has exited, so after Drain the log and Tail contain it, even if descendants
// still write and the container's output is not read.
func (p *Pump) Drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.eof {
		return
	}
	left, err := unix.IoctlGetInt(p.fd, unix.TIOCINQ)
	for err == nil && left >= 0 { // also if it is empty, to detect the end of the pipe
		n := p.take(min(left+1, pumpRead))
		if n <= 0 {
			return
		}
		left -= n
	}
}

// Flush flushes an incomplete line in the writer: the process that began it has ended.
func (p *Pump) Flush() {
	if f, ok := p.to.(interface{ Flush() }); ok {
		f.Flush()
	}
}

// Tail returns the last wire.TailBytes of the stream, from the beginning of a character, and
// whether there was more before them.
func (p *Pump) Tail() (tail []byte, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tail = p.tail[max(0, len(p.tail)-wire.TailBytes):]
	for i := range min(len(tail), utf8.UTFMax) {
		if p.cut && utf8.RuneStart(tail[i]) {
			tail = tail[i:]
			break
		}
	}
	return append([]byte(nil), tail...), p.cut
}

// Done is closed when the last writer has closed the pipe and all data has been written, or when
// the pump was closed.
func (p *Pump) Done() <-chan struct{} { return p.done }

// Close stops reading. A process that still writes gets SIGPIPE.
func (p *Pump) Close() {
	p.end()
	p.mu.Lock()
	p.eof = true // fd is no longer used
	polled := p.polled
	p.mu.Unlock()
	if polled != nil {
		polled.Close() // wakes the goroutine, and waits until it no longer uses the file
	}
	<-p.done
}
