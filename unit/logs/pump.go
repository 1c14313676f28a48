package logs

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/wire"
)

// pumpRead is how much is read from a pipe at once: all that it holds, as
// Linux makes it.
const pumpRead = 64 << 10

// Where that was full, its writer is held up by us: it gets a larger pipe, and
// more is read at once. (A larger pipe alone makes it slower: what is read has
// left the cache by then.)
const (
	amplePipe = 1 << 20 // the most that anyone may ask for (/proc/sys/fs/pipe-max-size)
	ampleRead = 256 << 10
)

// buffers are shared: a pump has one only while there is something to read, so
// a thousand quiet programs cost none.
var (
	buffers = sync.Pool{New: func() any {
		buf := make([]byte, pumpRead)
		return &buf
	}}
	ampleBuffers = sync.Pool{New: func() any {
		buf := make([]byte, ampleRead)
		return &buf
	}}
)

// Pump carries one output stream of a process, and of all that it leaves
// behind, from a pipe to a writer. It keeps the end of it.
type Pump struct {
	to   io.Writer
	from *os.File
	raw  syscall.RawConn
	done chan struct{}

	mu   sync.Mutex // held from a read to the end of what is done with its bytes, so that they stay in order
	tail []byte     // up to twice wire.TailBytes, cut when it is full
	eof  bool
	wide bool // the pipe was full once
}

// Start makes a pipe and the goroutine that empties it into to, whose errors
// it leaves to it to count; nil discards. The end for the child is its
// caller's, who closes it once the child has been started.
func Start(to io.Writer) (p *Pump, child *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	// Only our end: a child does not expect its output to refuse a write.
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	p = &Pump{to: to, from: os.NewFile(uintptr(fds[0]), "pipe"), done: make(chan struct{})}
	child = os.NewFile(uintptr(fds[1]), "pipe")
	if p.raw, err = p.from.SyscallConn(); err != nil {
		p.from.Close()
		child.Close()
		return nil, nil, err
	}
	go p.run()
	return p, child, nil
}

// run is the goroutine. It ends at the end of the pipe, or when that is closed.
func (p *Pump) run() {
	defer close(p.done)
	defer p.Flush()
	defer p.from.Close()
	for {
		more := false
		err := p.raw.Read(func(fd uintptr) bool {
			var empty bool
			more, empty = p.take(int(fd), ampleRead)
			return !empty
		})
		if err != nil || !more {
			return
		}
	}
}

// take reads once and passes on what it got. more is false at the end of the
// pipe; empty says that there is nothing to read for now.
func (p *Pump) take(fd, most int) (more, empty bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.eof {
		return false, false
	}
	pool := &buffers
	if p.wide {
		pool = &ampleBuffers
	}
	shared := pool.Get().(*[]byte)
	defer pool.Put(shared)
	buf := (*shared)[:min(most, len(*shared))]
	n, err := readPipe(fd, buf)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return true, true
	case err != nil || n == 0:
		p.eof = true
		return false, false
	}
	if n == pumpRead && !p.wide {
		p.wide = true
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, amplePipe) // a user may be refused: then it stays as it is
	}
	p.keep(buf[:n])
	if p.to != nil {
		_, _ = p.to.Write(buf[:n]) // the writer counts what it drops
	}
	return true, false
}

func readPipe(fd int, buf []byte) (n int, err error) {
	for {
		if n, err = unix.Read(fd, buf); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// keep remembers the end of the stream.
func (p *Pump) keep(data []byte) {
	if len(data) > wire.TailBytes {
		data = data[len(data)-wire.TailBytes:]
	}
	if len(p.tail)+len(data) > 2*wire.TailBytes {
		p.tail = append(p.tail[:0], p.tail[len(p.tail)-(wire.TailBytes-len(data)):]...)
	}
	p.tail = append(p.tail, data...)
}

// Sync passes on what is in the pipe now. All that a process wrote is there
// once it has exited, so that after Sync the log and Tail have it, whatever
// its descendants go on writing.
func (p *Pump) Sync() {
	_ = p.raw.Control(func(fd uintptr) { // an error: closed, so there is nothing left
		left, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		if err != nil {
			return
		}
		// The goroutine may read some of it, so no count can be exact; that
		// many bytes more, or an empty pipe, are what was there.
		for left > 0 {
			most := min(left, pumpRead)
			more, empty := p.take(int(fd), most)
			if !more || empty {
				return
			}
			left -= most
		}
	})
	// Where the goroutine has read the last of it, wait until it is passed on.
	p.mu.Lock()
	defer p.mu.Unlock()
}

// Flush has the writer finish a line without an end, where it keeps such: the
// process that began it has ended.
func (p *Pump) Flush() {
	if f, ok := p.to.(interface{ Flush() }); ok {
		f.Flush()
	}
}

// Tail gives the last wire.TailBytes of the stream.
func (p *Pump) Tail() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	tail := p.tail[max(0, len(p.tail)-wire.TailBytes):]
	return append([]byte(nil), tail...)
}

// Done is closed when nobody can write to the pipe any more and all of it has
// been passed on, or when the pump was closed.
func (p *Pump) Done() <-chan struct{} { return p.done }

// Close gives up reading. A process that writes on gets SIGPIPE.
func (p *Pump) Close() error {
	err := p.from.Close()
	<-p.done
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
