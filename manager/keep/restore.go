package keep

import (
	"context"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/unit/wire"
)

// maxJump is how many changes can have been made between the goal that this manager knows
// and one that is restored.
const maxJump = 1 << 20

// Restore makes a goal the current one again that was current before: units may have lost
// it together with their containers. The manager assigns its revision. The revision that
// the goal had only says which one is newer: a newer one that is known stays, and so does
// one that turns up later. It waits as Set does.
func (k *Keeper) Restore(ctx context.Context, d goal.Document) (Status, error) {
	if !k.learn(ctx) {
		return k.Status(), ErrNoEvidence
	}
	if err := fits(&d); err != nil {
		return k.Status(), err
	}
	k.mu.Lock()
	was := d.Revision
	if known := k.store.document; known == nil || was.Compare(known.Revision) > 0 {
		d.Revision = k.store.restored(was)
		if d.Asked.Compare(d.Revision) > 0 {
			d.Asked = d.Revision
		}
		k.store.replace(&d)
		k.opts.Logger.Info("goal restored", "revision", d.Revision.String(), "was", was.String(), "by", d.By)
		k.poke()
	}
	current := k.store.document
	k.mu.Unlock()
	return k.kept(ctx, current, 0, nil)
}

// restored returns the revision of a goal that had another one before. It wins over all
// that are known, and over older ones that turn up later; it never jumps further ahead
// than can have happened.
func (st *store) restored(was wire.Revision) wire.Revision {
	next := st.following()
	next.Counter = max(next.Counter, min(was.Counter, next.Counter+maxJump))
	return next
}
