package ready

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// NotifyVariable is the environment variable with the address for notifications (sd_notify(3)).
const NotifyVariable = "NOTIFY_SOCKET"

// Limits of one message, which is a few short lines and possibly some descriptors.
const (
	messageBytes = 4096
	controlBytes = 1024
)

// errStopping reports that a program that sent STOPPING=1 will not become ready.
var errStopping = errors.New("it reported that it is stopping")

// Notify is met when the program reports that it is ready. Its socket is in the abstract namespace,
// which needs no file system, under an unguessable name. Messages of processes outside the program
// are ignored.
type Notify struct {
	address string
	conn    *net.UnixConn
	trusted func(pid int) bool
	refused func(pid int)

	ready, stopping chan struct{}
	done            chan struct{}
	once, stopOnce  sync.Once
}

// Listen opens the socket. trusted reports whether a process belongs to the program; refused, if
// not nil, is called for other processes. Both are called by the reading goroutine, which Close
// ends.
func Listen(trusted func(pid int) bool, refused func(pid int)) (*Notify, error) {
	name := "@toskose/notify/" + rand.Text()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("cannot open a socket for notifications: %w", err)
	}
	raw, err := conn.SyscallConn()
	if err == nil {
		ctlErr := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
		err = errors.Join(err, ctlErr)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("cannot enable credentials on the socket for notifications: %w", err)
	}
	if refused == nil {
		refused = func(int) {}
	}
	n := &Notify{
		address: name, conn: conn, trusted: trusted, refused: refused,
		ready: make(chan struct{}), stopping: make(chan struct{}), done: make(chan struct{}),
	}
	go n.read()
	return n, nil
}

// Env returns the variable for the program's environment.
func (n *Notify) Env() string { return NotifyVariable + "=" + n.address }

// Wait blocks until the program reports that it is ready. It is an error if it reports that it is
// stopping.
func (n *Notify) Wait(ctx context.Context) error {
	select {
	case <-n.ready:
		return nil
	case <-n.stopping:
	case <-ctx.Done():
	}
	switch {
	case n.Met():
		return nil
	case ctx.Err() != nil:
		return errors.New("it never sent READY=1")
	}
	return errStopping
}

// Met reports whether the program has reported that it is ready.
func (n *Notify) Met() bool {
	select {
	case <-n.ready:
		return true
	default:
		return false
	}
}

func (n *Notify) String() string { return "notification" }

// Close ends the goroutine and removes the socket.
func (n *Notify) Close() {
	n.conn.Close()
	<-n.done
}

// read receives messages even after the program is ready: a sender must not find the socket full or
// closed.
func (n *Notify) read() {
	defer close(n.done)
	message, control := make([]byte, messageBytes), make([]byte, controlBytes)
	for {
		size, controlSize, _, _, err := n.conn.ReadMsgUnix(message, control)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			if temporary(err) {
				continue
			}
			return
		}
		sender, descriptors := readControl(control[:controlSize])
		if sender > 0 && n.trusted(sender) {
			n.handle(string(message[:size]))
		} else {
			n.refused(sender)
		}
		for _, fd := range descriptors {
			_ = unix.Close(fd) // tells the sender of BARRIER=1 that its message was read
		}
	}
}

func temporary(err error) bool {
	return errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, os.ErrDeadlineExceeded)
}

// handle processes one message. Other content (STATUS, MAINPID, WATCHDOG, …) is ignored.
func (n *Notify) handle(message string) {
	lines := strings.Split(message, "\n")
	if slices.Contains(lines, "READY=1") {
		n.once.Do(func() { close(n.ready) })
	}
	if slices.Contains(lines, "STOPPING=1") {
		n.stopOnce.Do(func() { close(n.stopping) })
	}
}

// readControl returns the sender, or 0 if unknown, and the descriptors in the message.
func readControl(control []byte) (sender int, descriptors []int) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0, nil
	}
	for _, m := range messages {
		if credentials, err := unix.ParseUnixCredentials(&m); err == nil {
			sender = int(credentials.Pid)
		}
		if sent, err := unix.ParseUnixRights(&m); err == nil {
			descriptors = append(descriptors, sent...)
		}
	}
	return sender, descriptors
}
