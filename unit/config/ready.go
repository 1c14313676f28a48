package config

import (
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/spec/protocol"
)

// The defaults of toskose_ready_timeout and toskose_ready_interval, and the minimum
// of both.
const (
	defaultReadyTimeout  = 60 * time.Second
	defaultReadyInterval = 200 * time.Millisecond
	leastReadyInterval   = 10 * time.Millisecond
)

// Ready defines when a started program is ready: when all of these checks pass.
type Ready struct {
	TCP      string   // host:port that accepts; empty: not checked
	HTTP     string   // http:// address that answers with a status from 200 to 399; empty: not checked
	Argv     []string // the words of a command that exits with 0; nil: none
	Log      string   // a regular expression that a line of its output matches; empty: not checked
	Notify   bool     // it reports readiness itself (sd_notify(3))
	Timeout  time.Duration
	Interval time.Duration // between two attempts of TCP, HTTP and the command
}

// readyKeys are the keys that define a check.
var readyKeys = []string{
	"toskose_ready_tcp", "toskose_ready_http", "toskose_ready_command", "toskose_ready_log", "toskose_ready_notify",
}

// ready reads the toskose_ready_ keys; nil: startsecs is all there is.
func (s *scope) ready(p *Program) *Ready {
	r := &Ready{
		TCP: s.tcpAddress("toskose_ready_tcp"), HTTP: s.httpAddress("toskose_ready_http"), Argv: s.commandLine("toskose_ready_command"), Log: s.readyLog(),
		Notify:   s.boolean("toskose_ready_notify", false),
		Timeout:  s.seconds("toskose_ready_timeout", defaultReadyTimeout, leastReadyInterval),
		Interval: s.seconds("toskose_ready_interval", defaultReadyInterval, leastReadyInterval),
	}
	first := ""
	for _, key := range readyKeys {
		if _, set := s.written(key); set && first == "" {
			first = key
		}
	}
	if first == "" {
		for _, key := range []string{"toskose_ready_timeout", "toskose_ready_interval"} {
			if _, ok := s.sec.keys[key]; ok {
				s.problem(key, "%s needs one of %s", key, strings.Join(readyKeys, ", "))
			}
		}
		return nil
	}
	if p.Kind == protocol.KindRun || p.Kind == protocol.KindStop {
		s.problem(first, "%s cannot be combined with toskose_operation=%s, which ends: only a start becomes ready", first, p.Kind)
	}
	if r.TCP == "" && r.HTTP == "" && r.Argv == nil && r.Log == "" && !r.Notify {
		return nil // toskose_ready_notify=false alone, or all of it is wrong
	}
	return r
}

// essential reads toskose_essential.
func (s *scope) essential(p *Program) bool {
	essential := s.boolean("toskose_essential", false)
	if essential && (p.Kind == protocol.KindRun || p.Kind == protocol.KindStop) {
		s.problem("toskose_essential", "toskose_essential cannot be combined with toskose_operation=%s, which is meant to end", p.Kind)
	}
	return essential
}

// tcpAddress reads HOST:PORT, or a PORT of this container.
func (s *scope) tcpAddress(key string) string {
	text, ok := s.text(key)
	if !ok {
		return ""
	}
	text = strings.TrimSpace(text)
	if !strings.Contains(text, ":") {
		text = ":" + text
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || !isPort(port) {
		s.wrong(key, "HOST:PORT or PORT")
		return ""
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

// httpAddress reads an http:// address.
func (s *scope) httpAddress(key string) string {
	text, ok := s.text(key)
	if !ok {
		return ""
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.User != nil || (u.Port() != "" && !isPort(u.Port())) {
		s.wrong(key, "an address of the form http://HOST:PORT/PATH")
		return ""
	}
	u.Fragment = ""
	return u.String()
}

// commandLine reads the words of a command.
func (s *scope) commandLine(key string) []string {
	text, ok := s.text(key)
	if !ok {
		return nil
	}
	argv, err := words(text)
	switch {
	case err != nil:
		s.problem(key, "%s %s", key, err)
	case len(argv) == 0 || argv[0] == "":
		s.problem(key, "%s is empty", key)
	default:
		return argv
	}
	return nil
}

func (s *scope) readyLog() string {
	const key = "toskose_ready_log"
	text, ok := s.text(key)
	if !ok {
		return ""
	}
	if text == "" {
		s.problem(key, "%s is empty", key)
		return ""
	}
	if _, err := regexp.Compile(text); err != nil {
		s.wrong(key, "a regular expression (RE2)")
		return ""
	}
	return text
}

// seconds reads a number of seconds that may have a fraction.
func (s *scope) seconds(key string, fallback, least time.Duration) time.Duration {
	text, ok := s.text(key)
	if !ok {
		return fallback
	}
	number, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(number >= least.Seconds() && number <= maxTimeout) {
		s.wrong(key, "a number of seconds, "+strconv.FormatFloat(least.Seconds(), 'f', -1, 64)+" or more")
		return fallback
	}
	return time.Duration(number * float64(time.Second))
}
