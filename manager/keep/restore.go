package keep

import (
	"context"

	"github.com/toskose/toskose/manager/goal"
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
	return k.awaitStored(ctx, k.store.restore(d), 0, nil)
}

// restore stores a restored goal unless a newer one is known, and returns the goal in effect. The new revision wins
// over all known revisions, and over older ones that appear later. It is bounded by maxJump.
func (st *store) restore(d goal.Document) *goal.Document {
	st.mu.Lock()
	defer st.mu.Unlock()
	was := d.Revision
	if st.document != nil && was.Compare(st.document.Revision) <= 0 {
		return st.document
	}
	d.Revision = st.following()
	d.Revision.Counter = max(d.Revision.Counter, min(was.Counter, d.Revision.Counter+maxJump))
	if d.Asked.Compare(d.Revision) > 0 {
		d.Asked = d.Revision
	}
	st.replace(&d)
	st.opts.Logger.Info("goal restored", "revision", d.Revision.String(), "was", was.String(), "by", d.By)
	st.changed()
	return st.document
}
