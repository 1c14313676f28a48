package logs

import (
	"bytes"
	"net"
	"sync"
	"time"
)

// SyslogSocket is where the syslog of a container listens, if there is one.
const SyslogSocket = "/dev/log"

// Syslog sends lines to syslog, as far as it listens and keeps up; the others are
// lost. It is an io.Writer, safe for concurrent use.
type Syslog struct {
	path, prefix string
	now          func() time.Time

	mu   sync.Mutex
	conn net.Conn // nil: not connected
	late bool     // the last line was not taken in time
}

// NewSyslog returns a writer of lines to the socket at a path, each with a prefix.
func NewSyslog(path, prefix string, now func() time.Time) *Syslog {
	return &Syslog{path: path, prefix: prefix, now: now}
}

// Write sends the lines of p. It always takes all of it.
func (s *Syslog) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range bytes.SplitSeq(bytes.TrimRight(p, "\n"), []byte("\n")) {
		s.send(line)
	}
	return len(p), nil
}

// Close disconnects. A Syslog that is nil is closed.
func (s *Syslog) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

// send sends a line as syslog(3) does for supervisord: at level info, of facility
// user. Where syslog was restarted it connects again, once.
func (s *Syslog) send(line []byte) {
	const userInfo = "<14>"
	wait := 10 * time.Millisecond
	if s.late {
		wait = time.Millisecond / 4
	}
	message := append([]byte(userInfo+s.now().Format(time.Stamp)+" supervisord: "+s.prefix), line...)
	for range 2 {
		if s.conn == nil {
			conn, err := net.Dial("unixgram", s.path) //nolint:noctx // a local socket accepts or refuses at once
			if err != nil {
				return
			}
			s.conn = conn
		}
		_ = s.conn.SetWriteDeadline(time.Now().Add(wait))
		_, err := s.conn.Write(message)
		if s.late = false; err == nil {
			return
		}
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // what Write returns
			s.late = true
			return
		}
		s.conn.Close()
		s.conn = nil
	}
}
