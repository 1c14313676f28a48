package unit

import "sync"

// broadcast wakes all who wait on it. Its zero value is ready.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

// next gives a channel that the next wake closes.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

// wake wakes those who wait now.
func (b *broadcast) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
