package manager

import (
	"bytes"
	"sync"

	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/signature"
	"github.com/toskose/toskose/unit/wire"
)

// Signing is the state of the goal's signature.
type Signing = keep.Signing

// Signing returns the state of the stored goal's signature.
func (g *Goals) Signing() Signing { return g.keeper.Signing() }

// signingKeys returns a function that reads the current keys, which may change while the manager runs; nil:
// documents are not signed. If the file cannot be read, it is being written, and the function returns the previous
// keys.
func signingKeys(opts Options) func() signature.Keys {
	if opts.SecretKey == nil {
		opts.Logger.Warn("documents are not signed: SECRET_KEY_FILE is not set")
		return nil
	}
	var mu sync.Mutex
	var last []byte
	var keys signature.Keys
	return func() signature.Keys {
		mu.Lock()
		defer mu.Unlock()
		text, err := opts.SecretKey()
		if secrets := wire.Passwords(text); err == nil && len(secrets) > 0 && !bytes.Equal(text, last) {
			last, keys = text, signature.NewKeys(secrets)
		}
		return keys
	}
}
