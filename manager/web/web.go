// Package web is the page on which people watch and control an application: files for browsers, which load nothing
// from other hosts and call the API of their own host.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed static
var static embed.FS

// Policy is the content security policy: the page runs only its own scripts, and connects only to its own origin.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Prefix is the path prefix of the files; the page itself is at /.
const Prefix = "/web/"

// Handler serves the page and its files. Browsers must revalidate them, since a manager of another version may run
// at the same address.
func Handler() (http.Handler, error) {
	files := http.NewServeMux()
	err := fs.WalkDir(static, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		at := Prefix + strings.TrimPrefix(name, "static/")
		if at == Prefix+"index.html" {
			at = "/{$}"
		}
		files.HandleFunc("GET "+at, serve(path.Base(name), data))
		return nil
	})
	return files, err
}

// types are the media types of the files; the system's table may differ.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

func serve(name string, data []byte) http.HandlerFunc {
	sum := sha256.Sum256(data)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:15]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", Policy)
		h.Set("Content-Type", types[path.Ext(name)])
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	}
}
