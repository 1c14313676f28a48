package rpc

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// token returns the next start, end or text. It skips comments and processing instructions; a
// document type, which could define entities, is an error.
func (d *decoder) token() (xml.Token, error) {
	for {
		token, err := d.xml.Token()
		if errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement, xml.EndElement, xml.CharData:
			return token, nil
		case xml.Directive:
			return nil, errors.New("a document type is not accepted")
		}
	}
}

// elementName returns the name of an element, or an invalid name if it is in a namespace.
func elementName(e xml.StartElement) string {
	if e.Name.Space != "" {
		return e.Name.Space + ":" + e.Name.Local
	}
	return e.Name.Local
}

// open returns the name of the next child, or "" at the end of the parent, which it consumes. Only
// white space is allowed between elements.
func (d *decoder) open() (string, error) {
	for {
		token, err := d.token()
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.StartElement:
			return elementName(token), nil
		case xml.EndElement:
			return "", nil
		case xml.CharData:
			if strings.TrimSpace(string(token)) != "" {
				return "", fmt.Errorf("text %q between elements", clip(string(token)))
			}
		}
	}
}

func (d *decoder) mustOpen(name string) error {
	child, err := d.open()
	if err != nil {
		return err
	}
	if child != name {
		return fmt.Errorf("element %q is missing", name)
	}
	return nil
}

func (d *decoder) mustClose() error {
	child, err := d.open()
	if err != nil {
		return err
	}
	if child != "" {
		return fmt.Errorf("element %q does not belong here", child)
	}
	return nil
}

// text reads the text up to the end of an element without children.
func (d *decoder) text() (string, error) {
	var text strings.Builder
	for {
		token, err := d.token()
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.StartElement:
			return "", fmt.Errorf("element %q where text belongs", elementName(token))
		case xml.EndElement:
			return text.String(), nil
		case xml.CharData:
			text.Write(token)
		}
	}
}

// end verifies that nothing but white space follows the last element.
func (d *decoder) end() error {
	for {
		token, err := d.xml.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.Comment, xml.ProcInst:
		case xml.CharData:
			if strings.TrimSpace(string(token)) != "" {
				return errors.New("text after the call")
			}
		default:
			return errors.New("more than one call")
		}
	}
}
