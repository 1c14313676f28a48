// Package once does a thing once for each key, however many ask at the same
// time. It starts no goroutine.
package once

import "sync"

// Group remembers what was done, by its key. The zero Group is ready to use.
type Group[T any] struct {
	mu  sync.Mutex
	all map[string]func() (T, error)
}

// Do calls do unless the key is known, waits until it has ended, and returns
// what it has returned.
func (g *Group[T]) Do(key string, do func() (T, error)) (T, error) {
	g.mu.Lock()
	get, ok := g.all[key]
	if !ok {
		if g.all == nil {
			g.all = map[string]func() (T, error){}
		}
		get = sync.OnceValues(do)
		g.all[key] = get
	}
	g.mu.Unlock()
	return get()
}
