package events

import "time"

// A rejected event is delivered again after a delay that doubles each time, so that a listener that
// never accepts it costs little.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
)

// reject records that a listener has rejected the event.
func (n *queuedEvent) reject() {
	pause := longestPause
	if n.rejections < 10 { // which prevents an overflow of the shift
		pause = min(firstPause<<n.rejections, longestPause)
	}
	n.rejections++
	n.due = time.Now().Add(pause)
}

// postpone reports whether the first event of the buffer has to wait, and schedules its delivery.
// Later events wait too, to keep the order.
func (p *Pool) postpone(first queuedEvent) bool {
	wait := time.Until(first.due)
	if first.due.IsZero() || wait <= 0 {
		return false
	}
	if p.retry == nil {
		p.retry = time.AfterFunc(wait, func() { p.update(func() []logMessage { return nil }) })
	} else {
		p.retry.Reset(wait)
	}
	return true
}

// maxRelayed is the maximum number of relayed bytes of a result.
const maxRelayed = 1 << 20

// relay returns the result that has just been completed.
func (l *Listener) relay() (body string, reports []logMessage) {
	body = l.talk.result
	l.talk.result = ""
	if lost := l.talk.length - len(body); lost > 0 {
		reports = append(reports, logMessage{true, "a result is too long to be relayed to its end", []any{"lost", lost}})
	}
	return body, reports
}
