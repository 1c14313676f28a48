package wire

import (
	"slices"
	"strings"
)

// Passwords returns what a file of passwords has: one on each line, of which any is right.
// The first is the one to use. There are two while one takes the place of the other; what is
// there more than once counts once.
func Passwords(file []byte) []string {
	var all []string
	for line := range strings.Lines(string(file)) {
		if password := strings.TrimRight(line, "\r\n"); password != "" && !slices.Contains(all, password) {
			all = append(all, password)
		}
	}
	return all
}

// Credentials are what a unit uses of those that it was given. None is secret.
type Credentials struct {
	Passwords   int      `json:"passwords"`             // how many are right; 0: those of its file are not read again
	Authorities []string `json:"authorities,omitempty"` // SHA-256 of the certificates that sign its clients'
}
