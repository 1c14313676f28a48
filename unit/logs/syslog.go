package logs

import (
	"bytes"
	"net"
	"sync"
	"time"
)

// SyslogSocket is the socket of a syslog daemon, if there is one.
const SyslogSocket = "/dev/log"

// Syslog sends lines to a syslog daemon. Lines are lost if none is listening or it is too slow. It
// is an io.Writer, safe for concurrent use.
type Syslog struct {
	path, prefix string
	now          func() time.Time

	mu   sync.Mutex
	conn net.Conn // nil if not connected
	late bool     // the last line was not accepted in time
}

// NewSyslog returns a writer to the socket at a path that prefixes each line.
func NewSyslog(path, prefix string, now func() time.Time) *Syslog {
	return &Syslog{path: path, prefix: prefix, now: now}
}

// Write sends the lines of p. It never fails.
func (s *Syslog) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range bytes.SplitSeq(bytes.TrimRight(p, "\n"), []byte("\n")) {
		s.send(line)
	}
	return len(p), nil
}

// Close disconnects. It may be called on a nil Syslog.
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

// send sends a line as syslog(3) does for supervisord: at level info, facility user. It reconnects
// once if the daemon was restarted.
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
