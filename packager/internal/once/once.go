// Package once runs a function once per key, even with concurrent callers. It starts no goroutine.
package once

import "sync"

// Group stores results by key. The zero Group is ready to use.
type Group[T any] struct {
	mu  sync.Mutex
	all map[string]func() (T, error)
}

// Do calls do, unless it was called before for the key, waits for it to return, and returns its
// result.
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
