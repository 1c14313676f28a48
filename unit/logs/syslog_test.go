package logs

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSyslogGetsEachLineAlsoAfterItWasRestarted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	at := time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC)
	s := NewSyslog(path, "x ", func() time.Time { return at })
	defer s.Close()
	if n, err := s.Write([]byte("nobody listens\n")); n != 15 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for range 2 {
		server, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write([]byte("one\ntwo\n")); err != nil {
			t.Error(err)
		}
		for _, want := range []string{"<14>Nov  2 03:04:05 supervisord: x one", "<14>Nov  2 03:04:05 supervisord: x two"} {
			buf := make([]byte, 100)
			_ = server.SetReadDeadline(time.Now().Add(time.Minute))
			n, err := server.Read(buf)
			if got := string(buf[:n]); err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
		server.Close()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFullSyslogHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	server, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s := NewSyslog(path, "", time.Now)
	defer s.Close()
	for range 100 {
		if _, err := s.Write(make([]byte, 64<<10)); err != nil {
			t.Fatal(err)
		}
	}
}
