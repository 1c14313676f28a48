package removed

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"hash/fnv"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/internal/sleep"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/signature"
	"github.com/toskose/toskose/unit/wire"
)

// reserved is how much smaller than a unit's limit a document is, for its signature.
const reserved = signature.MaxSize

// holders is the number of units that store the document: enough that a machine that fails does not take it along, and few
// enough that a removed container does not cause a request to each of a thousand units.
const holders = 5

// Options configure an exchange.
type Options struct {
	Interval time.Duration // between two looks; 2 s
	Removed  func() []*mirror.Replica
	Recall   func([]*mirror.Replica)
	Snapshot func() *mirror.Snapshot
	Copies   func(node, instance string) keep.Copies
	Keys     func() signature.Keys
	Logger   *slog.Logger
}

// Exchange synchronises the removed containers of the mirror with the documents of the units.
type Exchange struct {
	opts     Options
	revision wire.Revision // the highest one that a manager of this application wrote
	copies   map[string]*copyState
	looks    int
}

// rereads is after how many looks all documents are read again: of two managers that write at the same time, one may
// replace the document of the other.
const rereads = 30

// copyState is what one instance stores.
type copyState struct {
	has      []string      // the instances in its document, sorted
	full     bool          // it cannot store a document
	replaces wire.Revision // of a document that is ignored, and is replaced even if its revision is higher; zero: none
}

// New returns an exchange.
func New(opts Options) *Exchange {
	opts.Interval = cmp.Or(opts.Interval, 2*time.Second)
	if opts.Keys == nil {
		opts.Keys = func() signature.Keys { return nil }
	}
	return &Exchange{opts: opts, copies: map[string]*copyState{}}
}

// Run exchanges until ctx ends.
func (e *Exchange) Run(ctx context.Context) {
	for ctx.Err() == nil {
		e.look(ctx)
		_ = sleep.For(ctx, e.opts.Interval)
	}
}

// look reads the documents of new holders, and writes to holders whose document lacks a removed container.
func (e *Exchange) look(ctx context.Context) {
	chosen := chooseHolders(e.opts.Snapshot())
	e.looks++
	again := e.looks%rereads == 0 || !e.hold(chosen, instancesOf(e.opts.Removed()))
	for _, r := range chosen {
		if again || e.copies[r.Instance] == nil { // another manager may have written since
			e.recall(ctx, r)
		}
	}
	e.forget(chosen)
	known := e.opts.Removed()
	names := instancesOf(known)
	var text []byte
	for _, r := range chosen {
		if c := e.copies[r.Instance]; c == nil || c.full || includes(c.has, names) {
			continue
		}
		if text == nil {
			var err error
			if text, err = encode(known); err != nil {
				e.opts.Logger.Error("cannot store the history of removed containers", "err", err)
				return
			}
			e.revision = wire.Revision{Counter: e.revision.Counter + 1, ID: strings.ToLower(rand.Text()[:10])}
		}
		e.write(ctx, r, text, names)
	}
}

// hold reports whether the documents of replicas have all the instances.
func (e *Exchange) hold(chosen []*mirror.Replica, names []string) bool {
	return !slices.ContainsFunc(chosen, func(r *mirror.Replica) bool {
		c := e.copies[r.Instance]
		return c != nil && !c.full && !includes(c.has, names)
	})
}

// chooseHolders returns the replicas that store the document. All managers choose the same ones of the same replicas, and
// where one was replaced, the others stay chosen.
func chooseHolders(now *mirror.Snapshot) []*mirror.Replica {
	var all []*mirror.Replica
	for _, n := range now.Nodes {
		for _, r := range n.Replicas {
			if r.Instance != "" && r.Reachable() {
				all = append(all, r)
			}
		}
	}
	slices.SortFunc(all, func(a, b *mirror.Replica) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Instance, b.Instance))
	})
	return all[:min(holders, len(all))]
}

func rank(r *mirror.Replica) uint64 {
	h := fnv.New64a()
	h.Write([]byte(r.Instance))
	return h.Sum64()
}

// recall reads the document of a replica.
func (e *Exchange) recall(ctx context.Context, r *mirror.Replica) {
	d, err := e.opts.Copies(r.Node, r.Instance).Read(ctx)
	if errors.Is(err, keep.ErrNoRoom) {
		e.copies[r.Instance] = &copyState{full: true}
		return
	}
	if err != nil {
		return // it is tried again
	}
	c := &copyState{}
	e.copies[r.Instance] = c
	if d.Content == nil {
		return
	}
	replicas, err := e.verify(d)
	if err != nil {
		c.replaces = d.Revision
		e.opts.Logger.Warn("a unit stores a history of removed containers that is ignored", "node", r.Node, "replica", r.Address, "why", err)
		return
	}
	if d.Revision.Counter > e.revision.Counter {
		e.revision = d.Revision
	}
	e.opts.Recall(replicas)
	c.has = instancesOf(replicas)
}

// verify returns the replicas of a document that a manager of this application wrote.
func (e *Exchange) verify(d wire.Document) ([]*mirror.Replica, error) {
	keys := e.opts.Keys()
	signed, err := keys.Verify(wire.RemovedDocument, d.Content)
	switch {
	case len(keys) == 0 && errors.Is(err, signature.ErrUnsigned): // nothing is signed
	case err != nil:
		return nil, err
	case signed.Revision != d.Revision.String():
		return nil, signature.ErrInvalid
	}
	return decode(signed.Content)
}

// instancesOf returns the sorted instances of replicas.
func instancesOf(replicas []*mirror.Replica) []string {
	names := make([]string, len(replicas))
	for i, r := range replicas {
		names[i] = r.Instance
	}
	slices.Sort(names)
	return names
}

// write stores the document on a replica. It reads a newer document there first, in the next look.
func (e *Exchange) write(ctx context.Context, r *mirror.Replica, text []byte, names []string) {
	c := e.copies[r.Instance]
	d := wire.Document{Revision: e.revision, Content: text, Replaces: c.replaces}
	d.Content = e.opts.Keys().Sign(wire.RemovedDocument, d)
	err := e.opts.Copies(r.Node, r.Instance).Write(ctx, d)
	var newer *keep.NewerError
	code, _ := wire.FaultCodeOf(err)
	switch {
	case errors.As(err, &newer):
		delete(e.copies, r.Instance)
	case errors.Is(err, keep.ErrNoRoom), code == wire.NoDocument: // a unit of an earlier release does not know the name
		c.full = true
	case err == nil:
		c.has, c.replaces = names, wire.Revision{}
	default:
		e.opts.Logger.Debug("cannot store the history of removed containers", "node", r.Node, "replica", r.Address, "err", err)
	}
}

// forget drops the state of replicas that are no longer holders.
func (e *Exchange) forget(chosen []*mirror.Replica) {
	others := func(instance string) bool {
		return !slices.ContainsFunc(chosen, func(r *mirror.Replica) bool { return r.Instance == instance })
	}
	maps.DeleteFunc(e.copies, func(instance string, _ *copyState) bool { return others(instance) })
}

// includes reports whether a sorted list has all names of another sorted list.
func includes(list, names []string) bool {
	for _, name := range names {
		if _, ok := slices.BinarySearch(list, name); !ok {
			return false
		}
	}
	return true
}
