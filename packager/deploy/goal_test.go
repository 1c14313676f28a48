package deploy

import (
	"context"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// fakeGoal records the calls of a deployment.
type fakeGoal struct {
	managers []backend.Access // at which the goal was read or restored
	loaded   string
	restore  func(ctx context.Context, undone bool) error // may be nil
}

func (g *fakeGoal) Read(_ context.Context, at backend.Access) { g.managers = append(g.managers, at) }
func (g *fakeGoal) Saved() []byte                             { return nil }
func (g *fakeGoal) Load(saved []byte)                         { g.loaded = string(saved) }

func (g *fakeGoal) Restore(ctx context.Context, at backend.Access, undone bool) error {
	g.managers = append(g.managers, at)
	if g.restore == nil {
		return nil
	}
	return g.restore(ctx, undone)
}
