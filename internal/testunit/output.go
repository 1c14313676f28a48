package testunit

import (
	"strings"
	"sync"
)

// Output collects the output of a running process while the test reads it.
type Output struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns all of it.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
