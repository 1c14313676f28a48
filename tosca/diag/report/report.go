// Package report prints diagnostics: as text with source lines, as JSON, and as SARIF.
// It starts no goroutine.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/tosca/diag"
)

// Options are the settings of a report.
type Options struct {
	Subject string                                   // the checked document, as the user named it
	Source  func(file string) ([]byte, error)        // returns the content of a file
	Locate  func(file string) (path string, ok bool) // returns the path of a file on disk, for SARIF; nil: its name
	Name    func(file string) string                 // returns the name of a file for text; nil: its own
	Title   func(code string) string                 // returns the title of a code, for SARIF
	Version string                                   // of the program, for SARIF
	Colour  bool                                     // for text
}

// Count returns the numbers of errors and warnings.
func Count(list diag.List) (errors, warnings int) {
	for _, d := range list {
		if d.Severity == diag.Warning {
			warnings++
		}
	}
	return len(list) - warnings, warnings
}

// Summary returns the last line of text: whether the subject is valid, with the numbers
// of errors and warnings.
func Summary(subject string, list diag.List) string {
	errors, warnings := Count(list)
	verdict := visible.Text(subject) + " is valid"
	if errors > 0 {
		verdict = visible.Text(subject) + " is not valid"
	}
	var counted []string
	if errors > 0 {
		counted = append(counted, plural(errors, "error"))
	}
	if warnings > 0 {
		counted = append(counted, plural(warnings, "warning"))
	}
	if len(counted) == 0 {
		return verdict
	}
	return verdict + ": " + strings.Join(counted, ", ")
}

func plural(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// JSON writes the list and its verdict.
func JSON(w io.Writer, list diag.List, opts Options) error {
	errors, warnings := Count(list)
	if list == nil {
		list = diag.List{}
	}
	return write(w, struct {
		Subject     string    `json:"subject"`
		Valid       bool      `json:"valid"`
		Errors      int       `json:"errors"`
		Warnings    int       `json:"warnings"`
		Diagnostics diag.List `json:"diagnostics"`
	}{opts.Subject, errors == 0, errors, warnings, list})
}

func write(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	if err == nil {
		_, err = w.Write(visible.JSON(b.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}
