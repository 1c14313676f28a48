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

// maxDepth bounds the nesting of elements in a response. The decoder is recursive, and valid responses have fewer
// than two dozen levels.
const maxDepth = 64

// decode decodes the value of a response into result, or returns its fault.
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

// checkForm returns an error for malformed responses that the decoder would accept: it takes any document with a
// <value> for a response, ignores the rest, and follows any nesting.
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

// faultOf parses the text of wire.Fault's Error: `NAME` or `NAME: detail`.
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
