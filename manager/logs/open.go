package logs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/unit/wire"
)

// Logs reads the logs of an application.
type Logs struct {
	app     *topology.Application
	fleet   *fleet.Fleet
	sources sources
}

// New returns the logs of an application.
func New(app *topology.Application, f *fleet.Fleet) *Logs {
	return &Logs{app: app, fleet: f, sources: newSources(app)}
}

// Open starts reading. Its errors are about the query. The Reader ends with ctx and with the manager. The caller
// must close it.
func (l *Logs) Open(ctx context.Context, q rest.LogQuery) (*Reader, error) {
	f, err := newFilter(q)
	if err != nil {
		return nil, err
	}
	wanted, err := l.choose(f)
	if err != nil {
		return nil, err
	}
	now := l.fleet.Complete(ctx)
	r := &Reader{
		logs: l, filter: f, wanted: wanted, fresh: f.after == nil, in: make(chan piece),
		position: position{sum: l.sources.sum}, refresh: stopped(),
	}
	if f.after != nil && f.after.sum == l.sources.sum {
		r.position = *f.after
	} else if f.after != nil {
		r.emit(rest.LogLine{Kind: rest.LogLost, Time: time.Now(), Why: "the position is of another version of the application, so reading starts again"})
	}
	if q.Tail != nil && r.fresh {
		r.tail = tail{on: true, most: *q.Tail}
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.unhook = context.AfterFunc(l.fleet.Life(), r.cancel) //nolint:contextcheck // it ends with the manager, too
	r.update(now)                                          //nolint:contextcheck // followers end with the Reader, whose context is of ctx
	if q.Replica != "" && len(r.followers) == 0 && r.fresh {
		r.Close()
		return nil, &rest.Error{Kind: rest.ErrUnknownReplica, Detail: fmt.Sprintf("none of the selected nodes has a replica with the address or instance %.60q", q.Replica)}
	}
	return r, nil
}

func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// choose returns the indexes of the selected sources, by node.
func (l *Logs) choose(f *filter) (map[string][]int, error) {
	of, wanted := f.Of, map[string][]int{}
	if len(of) == 0 {
		of = []string{""}
	}
	for _, name := range of {
		operations, err := l.app.Choose(name)
		if err != nil {
			return nil, err
		}
		for _, op := range operations {
			node := op.Component.Node.Name()
			for i, s := range l.sources.of[node] {
				if s.operation.Process() == op.Process() && (f.Stream == "" || f.Stream == s.stream) && !slices.Contains(wanted[node], i) {
					wanted[node] = append(wanted[node], i)
				}
			}
		}
	}
	return wanted, nil
}

// update follows new replicas, and stops following removed ones.
func (r *Reader) update(now *mirror.Snapshot) {
	first := r.seen == nil
	r.seen = now
	there := map[place]bool{}
	for _, node := range r.logs.app.Toskosed {
		wanted := r.wanted[node.Name()]
		if len(wanted) == 0 {
			continue
		}
		known, found := now.Node(node.Name()), false
		for _, replica := range known.Replicas {
			if !replica.Gone.IsZero() {
				continue
			}
			found = true
			if which := r.filter.Replica; which != "" && which != replica.Instance && which != replica.Address.String() && which != replica.Address.Addr().String() {
				continue
			}
			key := place{replica.Address, replica.Instance}
			there[key] = true
			switch {
			case r.at(key) != nil:
			case replica.Instance == "":
				r.followers = append(r.followers, &follower{place: key, live: true, ended: true, cancel: func() {}})
				r.report(node, replica.Address.String(), fmt.Sprint(replica.Problem))
			default:
				r.follow(node, key, wanted)
			}
		}
		if first && !found {
			r.report(node, "", cmp.Or(known.Problem, discovery.ErrNone).Error())
		}
	}
	r.followers = slices.DeleteFunc(r.followers, func(f *follower) bool {
		if there[f.place] {
			return false
		}
		r.leave(f)
		return true
	})
}

func (r *Reader) at(p place) *follower {
	i := slices.IndexFunc(r.followers, func(f *follower) bool { return f.place == p })
	if i < 0 {
		return nil
	}
	return r.followers[i]
}

// report reports that a replica, or every replica of a node, cannot be read.
func (r *Reader) report(node *topology.Node, replica, why string) {
	r.emit(rest.LogLine{Kind: rest.LogSilent, Time: time.Now(), Why: why, LogSource: rest.LogSource{Node: node.Name(), Replica: replica}})
}

// follow starts reading the logs of a replica.
func (r *Reader) follow(node *topology.Node, p place, wanted []int) {
	unit, err := r.logs.fleet.Instance(node, p.instance)
	if err != nil {
		return // it was replaced meanwhile; another update will follow
	}
	all := r.logs.sources.of[node.Name()]
	f := &follower{
		place: p, replica: unit, key: keyOf(p.instance), taken: make(chan struct{}, 1), live: r.live,
		request: wire.LogsRequest{Instance: p.instance, Follow: r.filter.Follow},
	}
	if r.fresh && !r.live { // everything that a new replica printed is new
		f.request.Since, f.request.Last = r.filter.Since, r.last()
	}
	read := r.position.of(f.key, len(all))
	for _, i := range wanted {
		s := all[i]
		f.lines = append(f.lines, &lines{source: s.on(p.address.String()), read: read, index: i})
		f.request.Logs = append(f.request.Logs, wire.LogWanted{Process: s.operation.Process(), Stream: s.stream, After: read.logs[i].String()})
	}
	r.followers = append(r.followers, f)
	ctx, cancel := context.WithCancel(r.ctx)
	f.cancel = cancel
	r.running.Go(func() { f.run(ctx, r.in) })
}

// last returns the number of last lines with which each log starts; 0: all.
func (r *Reader) last() int {
	switch {
	case !r.tail.on || r.filter.Text != "" || r.filter.Match != "" || !r.filter.Until.IsZero():
		return 0 // it is unknown how far back the lines are
	case r.tail.most == 0:
		return -1
	}
	return r.tail.most
}

// leave stops following a replica. The reader's position in it is kept for a while, since the replica may be found
// again.
func (r *Reader) leave(f *follower) {
	f.cancel()
	if p := f.pending; p != nil {
		_ = f.lines[p.chunk.Log].add(p.chunk, p.data, r.emit) // best effort for the last piece
	}
	f.finish(r.emit)
	if f.replica.Node == nil {
		return // it is not followed
	}
	const remembered = 32
	if r.left = append(r.left, f.key); len(r.left) > remembered {
		r.position.drop(r.left[0])
		r.left = r.left[1:]
	}
}
