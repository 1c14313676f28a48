package keep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/unit/wire"
)

// announcer tells each unit what the goal means for its container. What units were
// told last holds while nobody manages them. The Keeper's lock guards it.
type announcer struct {
	opts    Options
	kept    func(instance string) bool // it has the newest goal: who has not may know a newer one
	locked  func(func() bool)          // does something under the lock, and has the Keeper decide again if that changed anything
	working *sync.WaitGroup

	targets   map[string]string        // that documents is of
	documents map[string]wire.Document // by container; nil: nothing was decided yet
	told      map[string]*told         // by instance
}

// told is what one instance was told.
type told struct {
	revision wire.Revision // that it has
	busy     bool
	again    time.Time // not before
}

// decide takes in what the goal asks of components. A revision's id is of what it
// says, so that managers that decide the same do not outbid each other.
func (a *announcer) decide(targets map[string]string) {
	if a.documents != nil && maps.Equal(a.targets, targets) {
		return
	}
	a.targets, a.documents = targets, map[string]wire.Document{}
	awaited := a.opts.Model.Awaited(targets)
	for _, node := range a.opts.Model.Node {
		if _, made := a.documents[node]; made {
			continue
		}
		components := awaited[node]
		if components == nil {
			components = map[string]string{}
		}
		text, err := json.Marshal(wire.Targets{Components: components})
		if err != nil {
			panic(err) // strings can be encoded
		}
		sum := sha256.Sum256(text)
		a.documents[node] = wire.Document{Revision: wire.Revision{ID: hex.EncodeToString(sum[:8])}, Content: text}
	}
}

// follow tells those who have not been told. A replica that must not be operated is
// another manager's.
func (a *announcer) follow(ctx context.Context, s goal.Situation) {
	there := map[string]bool{}
	for i := range s.Replicas {
		r := &s.Replicas[i]
		next, known := a.documents[r.Node]
		if r.Instance == "" || !known {
			continue
		}
		there[r.Instance] = true
		at := a.told[r.Instance]
		if at == nil {
			at = &told{}
			a.told[r.Instance] = at
		}
		if r.Problem == "" && a.kept(r.Instance) && !at.busy && !s.Now.Before(at.again) && at.revision.ID != next.Revision.ID {
			a.tell(ctx, r.Node, r.Instance, at, next, s.Now)
		}
	}
	maps.DeleteFunc(a.told, func(instance string, at *told) bool { return !there[instance] && !at.busy })
}

func (a *announcer) tell(ctx context.Context, node, instance string, at *told, d wire.Document, now time.Time) {
	at.busy = true
	d.Revision.Counter = at.revision.Counter + 1
	if at.revision.Counter >= maxCounter { // no manager has stored that
		d.Revision.Counter, d.Replaces = 1, at.revision
	}
	d.Content = a.opts.Keys().Sign(wire.TargetsDocument, d)
	a.working.Go(func() {
		err := a.opts.Targets(node, instance).Write(ctx, d)
		a.locked(func() (changed bool) {
			at.busy = false
			var newer *NewerError
			switch {
			case err == nil || errors.Is(err, ErrNoRoom): // who has none is ready without
				at.revision = d.Revision
			case errors.As(err, &newer):
				at.revision = newer.Revision
				return true
			default:
				at.again = now.Add(a.opts.Retry)
			}
			return false
		})
	})
}
