package unitclient

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"

	"github.com/kolo/xmlrpc"

	"github.com/toskose/toskose/unit/wire"
)

// maxDepth bounds how deep the elements of an answer nest. The decoder recurses
// on them, and no answer needs two dozen.
const maxDepth = 64

// decode decodes the value of an answer into result, or returns its fault.
func decode(data []byte, result any) error {
	if err := checkForm(data); err != nil {
		return fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	answer := xmlrpc.Response(data)
	if err := answer.Err(); err != nil {
		var fault xmlrpc.FaultError
		if !errors.As(err, &fault) {
			return fmt.Errorf("%w: %w", ErrBadAnswer, err)
		}
		return faultOf(fault)
	}
	if err := answer.Unmarshal(result); err != nil {
		return fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	return nil
}

// checkForm returns an error for what the decoder would accept: it takes any
// document that has a <value> for an answer, stops reading after that, and follows
// any nesting.
func checkForm(data []byte) error {
	tokens := xml.NewDecoder(bytes.NewReader(data))
	depth, root := 0, ""
	for {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			if root != "methodResponse" {
				return errors.New("it is not a methodResponse")
			}
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return fmt.Errorf("it nests deeper than %d elements", maxDepth)
			}
			if root == "" {
				root = t.Name.Local
			}
		case xml.EndElement:
			depth--
		}
	}
}

// faultOf undoes wire.Fault's Error: the text is `NAME` or `NAME: detail`.
func faultOf(f xmlrpc.FaultError) error {
	code := wire.FaultCode(f.Code)
	detail := f.String
	if name := code.String(); detail == name {
		detail = ""
	} else if len(detail) > len(name)+2 && detail[:len(name)+2] == name+": " {
		detail = detail[len(name)+2:]
	}
	return wire.NewFault(code, detail)
}
