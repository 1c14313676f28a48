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

// NotifyVariable is the environment variable with the address that a program
// sends its state to (sd_notify(3)).
const NotifyVariable = "NOTIFY_SOCKET"

// Limits of one message, which is a few short lines and, at most, some
// descriptors.
const (
	messageBytes = 4096
	controlBytes = 1024
)

// errStopping is why a program that sent STOPPING=1 will not become ready.
var errStopping = errors.New("it said that it is stopping")

// Notify is met when the program says that it is ready. Its socket is in the
// abstract namespace, which needs no file system, under an unguessable name.
// Only the program's own processes are believed.
type Notify struct {
	address string
	conn    *net.UnixConn
	trusted func(pid int) bool
	refused func(pid int)

	ready, stopping chan struct{}
	done            chan struct{}
	once, stopOnce  sync.Once
}

// Listen opens the socket. trusted reports whether a process is one of the
// program's; refused, if not nil, is called with those that are not. The reading
// goroutine calls both; Close ends it.
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
		return nil, fmt.Errorf("cannot ask for the senders of notifications: %w", err)
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

// Env is the variable that the program needs in its environment.
func (n *Notify) Env() string { return NotifyVariable + "=" + n.address }

// Wait returns when the program has said that it is ready; that it is stopping
// is an error.
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

// Met reports whether the program has said that it is ready.
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

// read receives messages, even once the program is ready: a sender must not
// find the socket full or gone.
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
			_ = unix.Close(fd) // tells a sender of BARRIER=1 that its message was read
		}
	}
}

func temporary(err error) bool {
	return errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, os.ErrDeadlineExceeded)
}

// handle acts on one message. Everything else it may contain (STATUS, MAINPID,
// WATCHDOG, …) is ignored.
func (n *Notify) handle(message string) {
	lines := strings.Split(message, "\n")
	if slices.Contains(lines, "READY=1") {
		n.once.Do(func() { close(n.ready) })
	}
	if slices.Contains(lines, "STOPPING=1") {
		n.stopOnce.Do(func() { close(n.stopping) })
	}
}

// readControl returns the sender, 0 if there is none, and the descriptors that
// were sent along.
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
