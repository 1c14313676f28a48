package events

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// State is the state of a listener.
type State int

// The states of a listener (Supervisor manual, "Event Listener States").
const (
	Acknowledged State = iota // has not sent READY yet, or has answered
	Ready                     // waiting for an event
	Busy                      // processing an event
	Unknown                   // has violated the protocol
)

func (s State) String() string {
	return [...]string{"ACKNOWLEDGED", "READY", "BUSY", "UNKNOWN"}[s]
}

// Answer is a listener's answer to an event.
type Answer int

// The answers of a listener.
const (
	NoAnswer Answer = iota // no answer yet
	Accepted               // OK
	Rejected               // anything else
)

// ErrProtocol is in the error chain for output that violates the protocol. Further output of the
// listener is ignored.
var ErrProtocol = errors.New("this is not the event listener protocol")

// Tokens and limits of the protocol. The header of a result ends with a newline, a result does not.
const (
	sayReady   = "READY\n"
	sayResult  = "RESULT "
	resultOK   = "OK"
	maxHeader  = 64 // bytes in the header of a result
	keptResult = 64 // bytes of a result to keep, unless it is relayed
)

// Conversation is the state of the protocol with one listener. The zero value is a listener that
// has just been started. Its size is bounded regardless of the listener's output.
type Conversation struct {
	state     State
	pending   string // an incomplete READY or header
	body      bool   // in Busy: the header of the result has been read
	length    int    // length of the result in bytes
	remaining int    // remaining bytes of the result
	result    string // the beginning of the result
	maxResult int    // how many bytes of it to keep; 0: keptResult
}

// State returns the listener's state.
func (c Conversation) State() State { return c.state }

// Result returns the beginning of the last answer's text.
func (c Conversation) Result() string { return c.result }

// Send returns the conversation after an event was sent. The listener must be Ready.
func (c Conversation) Send() (Conversation, error) {
	if c.state != Ready {
		return c, fmt.Errorf("cannot send an event to a listener that is %s", c.state)
	}
	return Conversation{state: Busy, maxResult: c.maxResult}, nil
}

// Receive returns the conversation after the listener has written data, and the completed answer,
// if any; there is at most one, since a listener processes one event at a time. A violation of the
// protocol makes the state Unknown; an answer before the violation is valid.
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
