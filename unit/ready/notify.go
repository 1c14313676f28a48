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

// NotifyVariable is the environment variable that tells a program where to
// send its state (sd_notify(3)).
const NotifyVariable = "NOTIFY_SOCKET"

// Limits of one message, which is a few short lines and, at most, some
// descriptors.
const (
	messageBytes = 4096
	controlBytes = 1024
)

// errSaysStopping is why a program that says so will not become ready.
var errSaysStopping = errors.New("it said that it is stopping")

// Notify is met when the program says that it is ready. It has a socket in
// the abstract name space, which needs no file system, under a name that
// nobody can guess, and takes the word of the program's own processes only.
type Notify struct {
	address string
	conn    *net.UnixConn
	mine    func(pid int) bool
	refused func(pid int)

	ready, stopping chan struct{}
	done            chan struct{}
	once, stopOnce  sync.Once
}

// Listen opens the socket. mine tells whether a process is one of the
// program's; refused, if not nil, is told of those that are not. Both are
// called by the goroutine that reads; Close ends that.
func Listen(mine func(pid int) bool, refused func(pid int)) (*Notify, error) {
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
		address: name, conn: conn, mine: mine, refused: refused,
		ready: make(chan struct{}), stopping: make(chan struct{}), done: make(chan struct{}),
	}
	go n.read()
	return n, nil
}

// Env is what the program needs in its environment.
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
	return errSaysStopping
}

// Met tells whether the program has said that it is ready.
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

// read takes messages, also after the program is ready: nobody who sends one
// shall find the socket full or gone.
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
		if sender > 0 && n.mine(sender) {
			n.heard(string(message[:size]))
		} else {
			n.refused(sender)
		}
		for _, fd := range descriptors {
			_ = unix.Close(fd) // whoever sent BARRIER=1 learns by this that it was read
		}
	}
}

func temporary(err error) bool {
	return errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, os.ErrDeadlineExceeded)
}

// heard obeys one message. All else that it may say (STATUS, MAINPID,
// WATCHDOG, …) means nothing here.
func (n *Notify) heard(message string) {
	lines := strings.Split(message, "\n")
	if slices.Contains(lines, "READY=1") {
		n.once.Do(func() { close(n.ready) })
	}
	if slices.Contains(lines, "STOPPING=1") {
		n.stopOnce.Do(func() { close(n.stopping) })
	}
}

// readControl finds the sender, 0 where there is none, and the descriptors that
// came along.
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
