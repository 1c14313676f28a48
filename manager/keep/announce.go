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
// manager is running.
type announcer struct {
	opts    Options
	store   *store // a unit that does not store the newest goal may know a newer one
	changed func()
	working *sync.WaitGroup

	mu        sync.Mutex
	targets   map[string]string           // the targets in documents
	documents map[string]wire.Document    // by container; nil: no decision yet
	received  map[string]*receivedTargets // by instance
}

// receivedTargets are the targets that one instance has received.
type receivedTargets struct {
	revision wire.Revision // the revision that it stores
	busy     bool
	again    time.Time // do not retry before
}

// decide updates the components' targets. The id of a revision is a hash of its content, so that managers with the
// same decision do not keep replacing each other's documents.
func (a *announcer) decide(targets map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.documents != nil && maps.Equal(a.targets, targets) {
		return
	}
	a.targets, a.documents = targets, map[string]wire.Document{}
	awaited := a.opts.Model.Awaited(targets)
	for _, node := range a.opts.Model.Node {
		if _, done := a.documents[node]; done {
			continue
		}
		components := map[string]string{}
		for component, state := range awaited[node] {
			components[a.opts.UnitName(component)] = state
		}
		text, err := json.Marshal(wire.Targets{Components: components})
		if err != nil {
			panic(err) // strings always encode
		}
		sum := sha256.Sum256(text)
		a.documents[node] = wire.Document{Revision: wire.Revision{ID: hex.EncodeToString(sum[:8])}, Content: text}
	}
}

// send sends the targets to units that do not have them. A replica that must not be operated belongs to another
// manager.
func (a *announcer) send(ctx context.Context, s goal.Situation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	exists := map[string]bool{}
	for i := range s.Replicas {
		r := &s.Replicas[i]
		next, known := a.documents[r.Node]
		if r.Instance == "" || !known {
			continue
		}
		exists[r.Instance] = true
		at := a.received[r.Instance]
		if at == nil {
			at = &receivedTargets{}
			a.received[r.Instance] = at
		}
		if r.Problem == "" && a.store.isCurrent(r.Instance) && !at.busy && !s.Now.Before(at.again) && at.revision.ID != next.Revision.ID {
			a.sendTo(ctx, r.Node, r.Instance, at, next, s.Now)
		}
	}
	maps.DeleteFunc(a.received, func(instance string, at *receivedTargets) bool { return !exists[instance] && !at.busy })
}

// sendTo sends a document to one unit. The caller holds the lock.
func (a *announcer) sendTo(ctx context.Context, node, instance string, at *receivedTargets, d wire.Document, now time.Time) {
	at.busy = true
	d.Revision.Counter = at.revision.Counter + 1
	if at.revision.Counter >= maxCounter { // no manager stores such a counter
		d.Revision.Counter, d.Replaces = 1, at.revision
	}
	d.Content = a.opts.Keys().Sign(wire.TargetsDocument, d)
	a.working.Go(func() {
		err := a.opts.Targets(node, instance).Write(ctx, d)
		a.mu.Lock()
		defer a.mu.Unlock()
		at.busy = false
		var newer *NewerError
		switch {
		case err == nil || errors.Is(err, ErrNoRoom): // a unit without storage is ready without it
			at.revision = d.Revision
		case errors.As(err, &newer):
			at.revision = newer.Revision
			a.changed()
		default:
			at.again = now.Add(a.opts.Retry)
		}
	})
}
