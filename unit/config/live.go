package config

import (
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/spec/protocol"
)

// The defaults of the toskose_live_ keys, and the minimum of the times.
const (
	defaultLiveInterval = 10 * time.Second
	defaultLiveTimeout  = 3 * time.Second
	defaultLiveFailures = 3
	leastLiveTime       = 10 * time.Millisecond
)

// Live defines when a running program is live: when all of these checks pass.
type Live struct {
	TCP         string   // host:port that accepts; empty: not checked
	HTTP        string   // http:// address that answers as FirstStatus to Text say; empty: not checked
	FirstStatus int      // the lowest status
	LastStatus  int      // the highest status
	Text        string   // is in the answer; empty: not checked
	Argv        []string // the words of a command that exits with 0; nil: none

	Interval time.Duration // between two checks
	Timeout  time.Duration // of one check
	Failures int           // consecutive failures after which the program is not live
	Grace    time.Duration // after it is RUNNING, without checks
	Then     LiveAction
}

// LiveAction is what the unit does with a program that is not live.
type LiveAction string

// The values of toskose_live_then.
const (
	LiveRestart LiveAction = "restart" // stop and start it; a component only ends, and its goal starts it again
	LiveReport  LiveAction = "report"  // only report it
	LiveExit    LiveAction = "exit"    // stop all programs and exit, so that the orchestrator replaces the container
)

// liveKeys are the keys that define a check, and liveSettings those that need one.
var (
	liveKeys     = []string{"toskose_live_tcp", "toskose_live_http", "toskose_live_command"}
	liveSettings = []string{
		"toskose_live_interval", "toskose_live_timeout", "toskose_live_failures", "toskose_live_grace", "toskose_live_then",
	}
)

// live reads the toskose_live_ keys; nil: the program is not checked.
func (s *scope) live(p *Program) *Live {
	l := &Live{
		TCP: s.tcpAddress("toskose_live_tcp"), HTTP: s.httpAddress("toskose_live_http"), Argv: s.commandLine("toskose_live_command"),
		Text:     s.textOr("toskose_live_text", ""),
		Interval: s.seconds("toskose_live_interval", defaultLiveInterval, leastLiveTime),
		Timeout:  s.seconds("toskose_live_timeout", defaultLiveTimeout, leastLiveTime),
		Failures: s.number("toskose_live_failures", defaultLiveFailures, 1, 1000),
		Grace:    s.seconds("toskose_live_grace", 0, 0),
		Then:     s.liveAction(),
	}
	l.FirstStatus, l.LastStatus = s.statuses("toskose_live_status")
	first := s.firstWritten(liveKeys)
	if first == "" {
		if key := s.firstWritten(append(liveSettings, "toskose_live_status", "toskose_live_text")); key != "" {
			s.problem(key, "%s needs one of %s", key, strings.Join(liveKeys, ", "))
		}
		return nil
	}
	if key := s.firstWritten([]string{"toskose_live_status", "toskose_live_text"}); key != "" && l.HTTP == "" {
		s.problem(key, "%s needs toskose_live_http", key)
	}
	if p.Kind == protocol.KindRun || p.Kind == protocol.KindStop {
		s.problem(first, "%s cannot be combined with toskose_operation=%s, which ends: only a start stays live", first, p.Kind)
	}
	return l
}

// firstWritten returns the first of some keys that is set, or "".
func (s *scope) firstWritten(keys []string) string {
	for _, key := range keys {
		if _, set := s.written(key); set {
			return key
		}
	}
	return ""
}

func (s *scope) liveAction() LiveAction {
	const key = "toskose_live_then"
	switch action := LiveAction(s.textOr(key, string(LiveRestart))); action {
	case LiveRestart, LiveReport, LiveExit:
		return action
	}
	s.wrong(key, "restart, report or exit")
	return LiveRestart
}

// statuses reads a status of HTTP, or a range such as 200-299; the default is 200-399.
func (s *scope) statuses(key string) (first, last int) {
	text, ok := s.text(key)
	if !ok {
		return 200, 399
	}
	low, high, isRange := strings.Cut(strings.TrimSpace(text), "-")
	if !isRange {
		high = low
	}
	first, err := strconv.Atoi(low)
	last, err2 := strconv.Atoi(high)
	if err != nil || err2 != nil || first < 100 || last > 599 || first > last {
		s.wrong(key, "a status such as 200, or a range such as 200-299")
		return 200, 399
	}
	return first, last
}
