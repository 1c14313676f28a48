package keep

import (
	"context"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/unit/wire"
)

// maxJump bounds the number of changes between the goal that this manager knows and a restored one.
const maxJump = 1 << 20

// Restore sets a goal that was current before: units may have lost it with their containers. The manager assigns a
// new revision. The old revision only decides which goal is newer: a known newer goal stays, and a newer one that
// appears later wins. Restore waits as Set does.
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

// restored returns the new revision of a restored goal. It wins over all known revisions, and over older ones that
// appear later. It is bounded by maxJump.
func (st *store) restored(was wire.Revision) wire.Revision {
	next := st.following()
	next.Counter = max(next.Counter, min(was.Counter, next.Counter+maxJump))
	return next
}
