// Package certs is a server's certificates in files, which are read again when they
// change. It starts no goroutine.
package certs

import (
	"crypto/tls"
	"log/slog"
	"os"
	"slices"
	"sync"
)

// Reloading returns what load does. A handshake loads again when one of the files has
// changed, the first of which has the certificate; if that fails, it is logged, and what
// was loaded before stays in use.
func Reloading(files []string, load func() (*tls.Config, error), logger *slog.Logger) (*tls.Config, error) {
	c := &certificates{files: files, load: load, logger: logger}
	c.seen = c.stat()
	config, err := load()
	if err != nil {
		return nil, err
	}
	c.config = config
	outer := config.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(), nil }
	return outer, nil
}

// certificates keeps the configuration that was loaded last.
type certificates struct {
	files  []string
	load   func() (*tls.Config, error)
	logger *slog.Logger

	mu     sync.Mutex
	seen   []os.FileInfo // of the files when they were read; nil: it was not there
	config *tls.Config
}

func (c *certificates) stat() []os.FileInfo {
	infos := make([]os.FileInfo, 0, len(c.files))
	for _, path := range c.files {
		info, err := os.Stat(path)
		if err != nil {
			info = nil
		}
		infos = append(infos, info)
	}
	return infos
}

// unchanged reports whether a file is as it was. Two files may have the same
// time, which advances in steps of up to 10 ms, but they are never the same file.
func unchanged(now, before os.FileInfo) bool {
	if now == nil || before == nil {
		return now == nil && before == nil
	}
	return now.ModTime().Equal(before.ModTime()) && now.Size() == before.Size() && os.SameFile(now, before)
}

func (c *certificates) current() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.stat()
	if slices.EqualFunc(now, c.seen, unchanged) {
		return c.config
	}
	c.seen = now // even if it fails: one message is enough
	config, err := c.load()
	if err != nil {
		c.logger.Error("certificates have changed, but cannot be used; the old ones stay in use", "error", err)
		return c.config
	}
	c.logger.Info("certificates have changed", "certificate", c.files[0])
	c.config = config
	return config
}
