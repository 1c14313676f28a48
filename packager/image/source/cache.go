package source

import "sync"

// Cache computes a value once for each key, even with concurrent callers. The zero Cache is ready to use.
type Cache[T any] struct {
	mu  sync.Mutex
	all map[string]func() (T, error)
}

// Get returns the value and the error of the first call of compute for a key.
func (c *Cache[T]) Get(key string, compute func() (T, error)) (T, error) {
	c.mu.Lock()
	get, ok := c.all[key]
	if !ok {
		if c.all == nil {
			c.all = map[string]func() (T, error){}
		}
		get = sync.OnceValues(compute)
		c.all[key] = get
	}
	c.mu.Unlock()
	return get()
}
