package keep

import (
	"context"

	"github.com/toskose/toskose/manager/goal"
)

// Restore makes a document the one that holds that was so before: units may have lost
// it together with their containers. One that wins stays, also where it turns up
// later. It waits as Set does.
func (k *Keeper) Restore(ctx context.Context, d goal.Document) (Status, error) {
	if err := fits(&d); err != nil {
		return k.Status(), err
	}
	k.mu.Lock()
	if known := k.store.document; known == nil || d.Revision.Compare(known.Revision) > 0 {
		k.store.document = &d
		k.opts.Logger.Info("goal", "revision", d.Revision.String(), "by", d.By)
		k.poke()
	}
	holds := k.store.document
	k.mu.Unlock()
	return k.kept(ctx, holds, 0, nil)
}
