package ready

import (
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// program is a sender of notifications, which is this test itself.
func program(t *testing.T, n *Notify) *net.UnixConn {
	t.Helper()
	name, address, _ := strings.Cut(n.Env(), "=")
	if name != "NOTIFY_SOCKET" || !strings.HasPrefix(address, "@") {
		t.Fatalf("the environment is %q", n.Env())
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func say(t *testing.T, conn *net.UnixConn, message string) {
	t.Helper()
	if _, err := conn.Write([]byte(message)); err != nil {
		t.Fatal(err)
	}
}

// heardOut returns when all that was sent before has been heard: as in
// sd_notify_barrier(3), the descriptor that goes with BARRIER=1 is closed.
func heardOut(t *testing.T, conn *net.UnixConn) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if ctlErr := raw.Control(func(fd uintptr) {
		err = unix.Sendmsg(int(fd), []byte("BARRIER=1"), unix.UnixRights(int(w.Fd())), nil, 0)
	}); err != nil || ctlErr != nil {
		t.Fatal(err, ctlErr)
	}
	w.Close()
	if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Fatalf("read %d bytes, %v", n, err)
	}
}

func TestNotifyIsMetByREADY(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"READY=1":                           "",
		"STATUS=up\nREADY=1\nMAINPID=1\n":   "",
		"STATUS=READY=1":                    "READY=1",
		"READY=0":                           "READY=1",
		"":                                  "READY=1",
		"STOPPING=1":                        errStopping.Error(),
		"STATUS=x\nSTOPPING=1\nWATCHDOG=1":  errStopping.Error(),
		"READY=1\nSTOPPING=1":               "",
		strings.Repeat("x", 2*messageBytes): "READY=1",
	} {
		t.Run(message[:min(len(message), 20)], func(t *testing.T) {
			t.Parallel()
			n, err := Listen(func(pid int) bool { return pid == os.Getpid() }, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			conn := program(t, n)
			say(t, conn, message)
			heardOut(t, conn)
			if n.Met() != (want == "") {
				t.Errorf("met: %v", n.Met())
			}
			limit := patience
			if want == "READY=1" {
				limit = 0
			}
			if err := n.Wait(within(t, limit)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want %q", err, want)
			}
			say(t, conn, "STATUS=still here") // nobody minds
		})
	}
}

func TestTheWordOfAStrangerDoesNotCount(t *testing.T) {
	t.Parallel()
	strangers := make(chan int, 2)
	n, err := Listen(func(int) bool { return false }, func(pid int) { strangers <- pid })
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	conn := program(t, n)
	say(t, conn, "READY=1")
	heardOut(t, conn)
	if pid := <-strangers; pid != os.Getpid() || n.Met() {
		t.Errorf("process %d was refused; met: %v", pid, n.Met())
	}
}
