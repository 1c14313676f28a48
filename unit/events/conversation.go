package events

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// State is what a listener is doing, by what it said last.
type State int

// The states of a listener (Supervisor manual, "Event Listener States").
const (
	Acknowledged State = iota // it has not said READY yet, or has answered
	Ready                     // it waits for an event
	Busy                      // it was sent one
	Unknown                   // it has said what the protocol does not have
)

func (s State) String() string {
	return [...]string{"ACKNOWLEDGED", "READY", "BUSY", "UNKNOWN"}[s]
}

// Answer is what a listener said of the event that it was sent.
type Answer int

// The answers of a listener.
const (
	NoAnswer Answer = iota // none yet
	Accepted               // OK
	Rejected               // anything else
)

// ErrNonsense is in the chain of what a listener says that the protocol does
// not have. Nothing that it says later is understood.
var ErrNonsense = errors.New("this is not the event listener protocol")

// What a listener says. A header of a result ends with a newline, a result does not.
const (
	sayReady   = "READY\n"
	sayResult  = "RESULT "
	resultOK   = "OK"
	maxHeader  = 64 // bytes of a result's header
	keptResult = 64 // bytes of a result that are of interest
)

// Conversation is where the protocol with one listener stands. Its zero value is
// that of a listener that has just been started. It holds a bounded number of
// bytes, whatever a listener says.
type Conversation struct {
	state   State
	pending string // the beginning of something that is not complete
	body    bool   // of Busy: the header of the result has been read
	left    int    // bytes of the result that are still to come
	result  string // what of it has come, its beginning
}

// State gives the listener's state.
func (c Conversation) State() State { return c.state }

// Result is the beginning of what the last answer said.
func (c Conversation) Result() string { return c.result }

// Send is the conversation after an event was sent. Only a listener that is
// Ready can be sent one.
func (c Conversation) Send() (Conversation, error) {
	if c.state != Ready {
		return c, fmt.Errorf("cannot send an event to a listener that is %s", c.state)
	}
	return Conversation{state: Busy}, nil
}

// Hear is the conversation after the listener said something, and the answer
// that was completed by that: one at most, as it can be sent only one event.
// What is not of the protocol makes it Unknown; an answer before it counts.
func (c Conversation) Hear(data []byte) (Conversation, Answer, error) {
	answer := NoAnswer
	for rest := string(data); rest != ""; {
		var err error
		switch c.state {
		case Acknowledged:
			rest, err = c.hearReady(rest)
		case Ready:
			err = nonsense(c.state, rest)
		case Busy:
			if !c.body {
				rest, err = c.hearHeader(rest)
			} else {
				rest = c.hearBody(rest)
			}
			if err == nil && c.body && c.left == 0 {
				answer = Rejected
				if c.result == resultOK {
					answer = Accepted
				}
				c = Conversation{state: Acknowledged, result: c.result}
			}
		case Unknown:
			return c, answer, nil
		}
		if err != nil {
			return Conversation{state: Unknown, result: c.result}, answer, err
		}
	}
	return c, answer, nil
}

func (c *Conversation) hearReady(said string) (rest string, err error) {
	said = c.pending + said
	switch {
	case strings.HasPrefix(said, sayReady):
		*c = Conversation{state: Ready, result: c.result}
		return said[len(sayReady):], nil
	case strings.HasPrefix(sayReady, said):
		c.pending = said
		return "", nil
	}
	return "", nonsense(c.state, said)
}

func (c *Conversation) hearHeader(said string) (rest string, err error) {
	said = c.pending + said
	header, rest, complete := strings.Cut(said, "\n")
	if !complete && len(said) <= maxHeader {
		c.pending = said
		return "", nil
	}
	number, ok := strings.CutPrefix(header, sayResult)
	length, err := strconv.Atoi(strings.TrimSpace(number))
	if !complete || !ok || err != nil || length < 0 {
		return "", nonsense(c.state, said)
	}
	c.pending, c.body, c.left = "", true, length
	return rest, nil
}

func (c *Conversation) hearBody(said string) (rest string) {
	n := min(len(said), c.left)
	c.result += said[:min(n, keptResult-len(c.result))]
	c.left -= n
	return said[n:]
}

func nonsense(s State, said string) error {
	const shown = 40
	return fmt.Errorf("%w: it is %s and says %.*q", ErrNonsense, s, shown, said)
}
