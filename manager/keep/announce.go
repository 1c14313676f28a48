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

// announcer sends each unit the targets of its container's components. A unit keeps the last targets while no
// manager is running. The Keeper's lock guards the announcer.
type announcer struct {
	opts    Options
	kept    func(instance string) bool // the instance stores the newest goal; one that does not may know a newer one
	locked  func(func() bool)          // calls a function under the lock, and makes the Keeper decide again if it returns true
	working *sync.WaitGroup

	targets   map[string]string        // the targets in documents
	documents map[string]wire.Document // by container; nil: no decision yet
	told      map[string]*told         // by instance
}

// told is the targets that one instance has received.
type told struct {
	revision wire.Revision // the revision that it stores
	busy     bool
	again    time.Time // do not retry before
}

// decide updates the components' targets. The id of a revision is a hash of its content, so that managers with the
// same decision do not keep replacing each other's documents.
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
			panic(err) // strings always encode
		}
		sum := sha256.Sum256(text)
		a.documents[node] = wire.Document{Revision: wire.Revision{ID: hex.EncodeToString(sum[:8])}, Content: text}
	}
}

// follow sends the targets to units that do not have them. A replica that must not be operated belongs to another
// manager.
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
	if at.revision.Counter >= maxCounter { // no manager stores such a counter
		d.Revision.Counter, d.Replaces = 1, at.revision
	}
	d.Content = a.opts.Keys().Sign(wire.TargetsDocument, d)
	a.working.Go(func() {
		err := a.opts.Targets(node, instance).Write(ctx, d)
		a.locked(func() (changed bool) {
			at.busy = false
			var newer *NewerError
			switch {
			case err == nil || errors.Is(err, ErrNoRoom): // a unit without storage is ready without it
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
