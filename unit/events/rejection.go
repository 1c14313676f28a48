package events

import "time"

// An event that was rejected waits before it is delivered again, each time twice
// as long, so that a listener that never accepts it costs next to nothing.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
)

// reject notes that a listener has rejected the event.
func (n *queuedEvent) reject() {
	pause := longestPause
	if n.rejections < 10 { // which keeps the shift from overflowing
		pause = min(firstPause<<n.rejections, longestPause)
	}
	n.rejections++
	n.due = time.Now().Add(pause)
}

// postpone reports whether the first event of the buffer has to wait, and sees to
// it that it is delivered then. Those behind it wait, too: events keep their order.
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

// maxRelayed is how many bytes of a result are relayed.
const maxRelayed = 1 << 20

// relay takes the result that has just become complete.
func (l *Listener) relay() (body string, reports []logMessage) {
	body = l.talk.result
	l.talk.result = ""
	if lost := l.talk.length - len(body); lost > 0 {
		reports = append(reports, logMessage{true, "a result is too long to be relayed to its end", []any{"lost", lost}})
	}
	return body, reports
}
