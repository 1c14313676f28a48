// Package templates embeds the templates of the files generated for images: supervisord.conf and
// the Dockerfiles. The templates only lay out their data, which the caller must have quoted. It
// starts no goroutine.
package templates

import (
	"bytes"
	"embed"
	"fmt"
	"text/template"
)

//go:embed *.tmpl
var files embed.FS

// The templates.
const (
	SupervisordConf = "supervisord.conf.tmpl"
	ToskosedImage   = "toskosed.Dockerfile.tmpl" // of nodes, and of the manager
)

var parsed = template.Must(template.New("").Option("missingkey=error").ParseFS(files, "*.tmpl"))

// Render fills in a template.
func Render(name string, data any) ([]byte, error) {
	var buf bytes.Buffer
	if err := parsed.ExecuteTemplate(&buf, name, data); err != nil {
		return nil, fmt.Errorf("cannot fill in %s: %w", name, err)
	}
	return buf.Bytes(), nil
}
