package events

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// State is the state of a listener, by what it said last.
type State int

// The states of a listener (Supervisor manual, "Event Listener States").
const (
	Acknowledged State = iota // it has not said READY yet, or has answered
	Ready                     // it waits for an event
	Busy                      // it was sent one
	Unknown                   // it has violated the protocol
)

func (s State) String() string {
	return [...]string{"ACKNOWLEDGED", "READY", "BUSY", "UNKNOWN"}[s]
}

// Answer is a listener's answer to the event that it was sent.
type Answer int

// The answers of a listener.
const (
	NoAnswer Answer = iota // none yet
	Accepted               // OK
	Rejected               // anything else
)

// ErrProtocol is in the chain of the error for output that violates the
// protocol. What the listener writes after it is ignored.
var ErrProtocol = errors.New("this is not the event listener protocol")

// What a listener writes. The header of a result ends with a newline, a result
// does not.
const (
	sayReady   = "READY\n"
	sayResult  = "RESULT "
	resultOK   = "OK"
	maxHeader  = 64 // bytes of a result's header
	keptResult = 64 // bytes of a result that are kept, unless it is relayed
)

// Conversation is the state of the protocol with one listener. The zero value is
// that of a listener that has just been started. It holds a bounded number of
// bytes, whatever a listener writes.
type Conversation struct {
	state     State
	pending   string // an incomplete READY or header
	body      bool   // of Busy: the header of the result has been read
	length    int    // of the result, in bytes
	remaining int    // how many of them are still to come
	result    string // the beginning of what has come of it
	maxResult int    // how many bytes of it at most; 0: keptResult
}

// State returns the listener's state.
func (c Conversation) State() State { return c.state }

// Result is the beginning of the last answer's text.
func (c Conversation) Result() string { return c.result }

// Send returns the conversation after an event was sent. Only a listener that
// is Ready can be sent one.
func (c Conversation) Send() (Conversation, error) {
	if c.state != Ready {
		return c, fmt.Errorf("cannot send an event to a listener that is %s", c.state)
	}
	return Conversation{state: Busy, maxResult: c.maxResult}, nil
}

// Receive returns the conversation after the listener has written data, and the
// answer which that completed: at most one, since a listener is sent one event
// at a time. A violation of the protocol makes it Unknown; an answer before the
// violation counts.
func (c Conversation) Receive(data []byte) (Conversation, Answer, error) {
	answer := NoAnswer
	for rest := string(data); rest != ""; {
		var err error
		switch c.state {
		case Acknowledged:
			rest, err = c.receiveReady(rest)
		case Ready:
			err = violation(c.state, rest)
		case Busy:
			if !c.body {
				rest, err = c.receiveHeader(rest)
			} else {
				rest = c.receiveBody(rest)
			}
			if err == nil && c.body && c.remaining == 0 {
				answer = Rejected
				if c.result == resultOK {
					answer = Accepted
				}
				c = Conversation{state: Acknowledged, length: c.length, result: c.result, maxResult: c.maxResult}
			}
		case Unknown:
			return c, answer, nil
		}
		if err != nil {
			return Conversation{state: Unknown, length: c.length, result: c.result}, answer, err
		}
	}
	return c, answer, nil
}

func (c *Conversation) receiveReady(said string) (rest string, err error) {
	said = c.pending + said
	switch {
	case strings.HasPrefix(said, sayReady):
		*c = Conversation{state: Ready, length: c.length, result: c.result, maxResult: c.maxResult}
		return said[len(sayReady):], nil
	case strings.HasPrefix(sayReady, said):
		c.pending = said
		return "", nil
	}
	return "", violation(c.state, said)
}

func (c *Conversation) receiveHeader(said string) (rest string, err error) {
	said = c.pending + said
	header, rest, complete := strings.Cut(said, "\n")
	if !complete && len(said) <= maxHeader {
		c.pending = said
		return "", nil
	}
	number, ok := strings.CutPrefix(header, sayResult)
	length, err := strconv.Atoi(strings.TrimSpace(number))
	if !complete || !ok || err != nil || length < 0 {
		return "", violation(c.state, said)
	}
	c.pending, c.body, c.length, c.remaining = "", true, length, length
	return rest, nil
}

func (c *Conversation) receiveBody(said string) (rest string) {
	n := min(len(said), c.remaining)
	c.result += said[:min(n, cmp.Or(c.maxResult, keptResult)-len(c.result))]
	c.remaining -= n
	return said[n:]
}

func violation(s State, said string) error {
	const shown = 40
	return fmt.Errorf("%w: it is %s and says %.*q", ErrProtocol, s, shown, said)
}
