package manager

import (
	"bytes"
	"sync"

	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/signature"
	"github.com/toskose/toskose/unit/wire"
)

// Signing says how the goal is signed.
type Signing = keep.Signing

// Signing returns how the goal is signed that the units keep.
func (g *Goals) Signing() Signing { return g.keeper.Signing() }

// signingKeys returns what reads the keys whenever it is called, as they change while the
// manager runs; nil: documents are not signed. A file that cannot be read is being
// written: the keys stay as they were.
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
