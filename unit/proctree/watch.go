package proctree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watch waits for processes to end. A pidfd becomes readable when its process has ended, regardless
// of parent and reaping. The pidfds are in an epoll instance, which Go's poller watches, so waiting
// takes neither a thread nor a timer.
type watch struct {
	tree      *Tree
	file      *os.File // the epoll
	conn      syscall.RawConn
	handles   map[id]*handle
	byFD      map[int32]*handle
	unwatched int // number of handles without a pidfd
}

func (t *Tree) newWatch() (*watch, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot wait for processes: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("cannot wait for processes: %w", err)
	}
	w := &watch{tree: t, file: os.NewFile(uintptr(fd), "epoll"), handles: map[id]*handle{}, byFD: map[int32]*handle{}}
	if w.conn, err = w.file.SyscallConn(); err != nil {
		w.close()
		return nil, fmt.Errorf("cannot wait for processes: %w", err)
	}
	return w, nil
}

func (w *watch) close() {
	for _, h := range w.handles {
		h.close()
	}
	_ = w.file.Close()
}

// add opens a process found by a look, unless it has ended, or returns its existing handle.
func (w *watch) add(e *entry) (h *handle, ok bool) {
	if h, ok := w.handles[e.id()]; ok {
		return h, !h.ended
	}
	if h, ok = w.tree.openHandle(e); !ok {
		return nil, false
	}
	if h.fd >= 0 {
		event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(h.fd)}
		err := w.control(func(fd int) error { return unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, h.fd, &event) })
		if err != nil {
			h.close() // out of memory or user watches: continue without
		}
	}
	w.handles[h.id] = h
	if h.fd >= 0 {
		w.byFD[int32(h.fd)] = h
	} else {
		w.unwatched++
	}
	return h, true
}

func (w *watch) control(f func(fd int) error) (err error) {
	if ctlErr := w.conn.Control(func(fd uintptr) { err = f(int(fd)) }); ctlErr != nil {
		return ctlErr
	}
	return err
}

// drop removes a process that has ended.
func (w *watch) drop(h *handle) {
	if h.ended {
		return
	}
	h.ended = true
	delete(w.handles, h.id)
	if h.fd < 0 {
		w.unwatched--
		return
	}
	delete(w.byFD, int32(h.fd))
	h.close() // which removes it from the epoll instance
}

// wait returns when at least one of the held processes has ended, when ctx is
// done, or spuriously. It drops ended processes.
func (w *watch) wait(ctx context.Context) error {
	if ctx.Err() != nil || len(w.handles) == 0 {
		return nil
	}
	if w.unwatched > 0 {
		return w.waitUnwatched(ctx)
	}
	if err := w.file.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("cannot wait for processes: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = w.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err := w.conn.Read(func(fd uintptr) bool { return w.collect(int(fd)) > 0 })
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("cannot wait for processes: %w", err)
	}
	return nil
}

// collect drops the processes that have ended, and returns how many.
func (w *watch) collect(epoll int) (ended int) {
	var events [64]unix.EpollEvent
	for {
		n, err := retry(func() (int, error) { return unix.EpollWait(epoll, events[:], 0) })
		if err != nil || n <= 0 {
			return ended
		}
		for _, event := range events[:n] {
			if h := w.byFD[event.Fd]; h != nil {
				w.drop(h)
				ended++
			}
		}
	}
}

// waitUnwatched waits for processes without a pidfd: the reaper announces the end of children;
// others are polled.
func (w *watch) waitUnwatched(ctx context.Context) error {
	drained := w.tree.drained.next()
	if w.dropEnded() > 0 {
		return nil
	}
	tick := time.NewTimer(w.tree.tick)
	defer tick.Stop()
	select {
	case <-drained:
	case <-tick.C:
	case <-ctx.Done():
	}
	w.dropEnded()
	return nil
}

// dropEnded drops the processes that have ended, with and without a pidfd.
func (w *watch) dropEnded() (ended int) {
	for _, h := range w.handles {
		if h.fd < 0 && !w.tree.alive(h.id) {
			w.drop(h)
			ended++
		}
	}
	_ = w.control(func(fd int) error {
		ended += w.collect(fd)
		return nil
	})
	return ended
}
