// Package broadcast wakes everyone who waits for a change.
package broadcast

import "sync"

// Broadcast wakes all who wait on it. Its zero value is ready.
type Broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

// Next returns a channel that the next Wake closes.
func (b *Broadcast) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

// Wake wakes those who wait now.
func (b *Broadcast) Wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
