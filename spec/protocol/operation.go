package protocol

import (
	"fmt"
	"strings"
)

// Operation names an operation of a component.
type Operation struct {
	Interface string `json:"interface"`
	Name      string `json:"operation"` // without a dot
}

// String returns "interface.operation", or "" for the zero value.
func (o Operation) String() string {
	if o == (Operation{}) {
		return ""
	}
	return o.Interface + "." + o.Name
}

// ParseOperation parses the output of String.
func ParseOperation(text string) (Operation, error) {
	dot := strings.LastIndexByte(text, '.')
	if dot <= 0 || dot == len(text)-1 {
		return Operation{}, fmt.Errorf("%q is not of the form interface.operation", text)
	}
	return Operation{text[:dot], text[dot+1:]}, nil
}

// Kind is the effect of an operation on the processes of its component.
type Kind string

// The kinds of operations.
const (
	KindNone  Kind = ""      // not an operation
	KindRun   Kind = "run"   // runs to completion
	KindStart Kind = "start" // leaves processes: daemonises and exits 0, or stays
	KindStop  Kind = "stop"  // ends the processes of start
)

// KindOf returns the kind of an operation: the protocol's or, by default, the one implied by its
// name.
func (p Protocol) KindOf(o Operation) Kind {
	if kind, own := p.Kinds[o.String()]; own {
		return kind
	}
	return o.Kind()
}

// Kind returns the kind that an operation has by its name, in any interface.
func (o Operation) Kind() Kind {
	switch o.Name {
	case "":
		return KindNone
	case "start":
		return KindStart
	case "stop":
		return KindStop
	default:
		return KindRun
	}
}
