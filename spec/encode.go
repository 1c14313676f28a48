package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/toskose/toskose/internal/visible"
)

// FormatVersion is the format of the documents that this version writes and reads. It
// changes when a reader of the previous format could misunderstand a document.
const FormatVersion = 1

// Encode writes an application as indented JSON. The same application gives
// the same bytes.
func Encode(app *Application) ([]byte, error) {
	written := *app
	written.Format = FormatVersion
	return encode(&written, "application", app.Name)
}

func encode(document any, kind, name string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return nil, fmt.Errorf("cannot encode %s %q: %w", kind, name, err)
	}
	return visible.JSON(b.Bytes()), nil
}

// Decode reads and validates an application's document, written by Encode or by another program.
// The error joins all problems.
func Decode(data []byte) (*Application, error) {
	var app Application
	if err := decode(data, &app); err != nil {
		return nil, err
	}
	if err := app.Validate(); err != nil {
		return nil, err
	}
	return &app, nil
}

// decode reads a document of the current format, strictly.
func decode(data []byte, into any) error {
	var header struct {
		Format *int `json:"format"`
	}
	switch err := json.Unmarshal(data, &header); {
	case err != nil:
		return explain(data, err)
	case header.Format == nil:
		return fmt.Errorf(`there is no "format" in it: this version reads documents of format %d; package the application again with this version of toskose`, FormatVersion)
	case *header.Format != FormatVersion:
		return fmt.Errorf("it has format %d, and this version reads format %d: package the application again with this version of toskose, or run it with the version that packaged it",
			*header.Format, FormatVersion)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return explain(data, err)
	}
	return nil
}

// explain adds the position in the document to a decoding error.
func explain(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: it is not valid JSON: %w", line(data, syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("line %d: %q cannot be a %s", line(data, kind.Offset), kind.Field, kind.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is not valid JSON: it ends too early")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

func line(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}
