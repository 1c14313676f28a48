package api

import (
	"net/http"
	"strings"
)

// protect sets what tells browsers to do nothing with an answer but what it is for.
// The pages of /docs set a policy of their own.
func protect(h http.Header, r *http.Request) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY") // what frame-ancestors says, for old browsers
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/metrics" {
		h.Set("Cache-Control", "no-store")
	}
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
