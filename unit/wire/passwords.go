package wire

import (
	"slices"
	"strings"
)

// Passwords returns the passwords in a file, one per line, without duplicates. Each is accepted;
// the first is the one to use. There are two during a replacement.
func Passwords(file []byte) []string {
	var all []string
	for line := range strings.Lines(string(file)) {
		if password := strings.TrimRight(line, "\r\n"); password != "" && !slices.Contains(all, password) {
			all = append(all, password)
		}
	}
	return all
}

// Credentials describe the credentials that a unit uses. None of it is secret.
type Credentials struct {
	Passwords   int      `json:"passwords"`             // number of accepted passwords; 0: its file is not read again
	Authorities []string `json:"authorities,omitempty"` // SHA-256 of the certificates that sign client certificates
}
