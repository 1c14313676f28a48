package logs

import (
	"context"
	"io"
	"net/netip"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
)

// Reader returns lines. It is not safe for concurrent use.
type Reader struct {
	logs     *Logs
	filter   *filter
	wanted   map[string][]int // the indexes of the wanted sources, by node
	position position
	fresh    bool // no position was given: Since and Tail apply

	ctx       context.Context //nolint:containedctx // of the followers
	cancel    context.CancelFunc
	unhook    func() bool
	running   sync.WaitGroup
	in        chan piece
	followers []*follower
	left      []instanceKey    // keys of replicas that are no longer followed
	seen      *mirror.Snapshot // the snapshot of the last update

	out      []rest.LogLine
	returned bool      // out was returned to the caller
	current  *follower // the follower whose piece out comes from
	tail     tail
	live     bool // all existing lines were read
	ended    bool // no more lines will follow

	refresh    *time.Timer // triggers the next update
	refreshing bool        // refresh is running
}

// place is a container that is followed.
type place struct {
	address  netip.AddrPort
	instance string
}

// refreshDelay is how long the Reader waits after a change before it updates its followers.
const refreshDelay = 200 * time.Millisecond

// Close stops reading.
func (r *Reader) Close() {
	r.unhook()
	r.cancel()
	r.refresh.Stop()
	r.running.Wait()
}

// Position returns the position after the entries that Next has returned, and after filtered lines.
func (r *Reader) Position() string { return r.position.String() }

// Next waits for the next entries, which are valid until the next call. The error is io.EOF when all is read, or
// the context's.
func (r *Reader) Next(ctx context.Context) ([]rest.LogLine, error) {
	if r.returned {
		r.out, r.returned = r.out[:0], false
		r.release()
	}
	for {
		if len(r.out) > 0 {
			r.returned = true
			return r.out, nil
		}
		if r.ended {
			return nil, io.EOF
		}
		first, ready := r.first()
		switch {
		case first != nil:
			r.read(first)
			if len(r.out) == 0 { // all lines were filtered out or buffered
				r.release()
			}
		case ready && r.catchUp():
		default:
			if err := r.wait(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// first returns the follower with the oldest piece; ready is false while another may still deliver an older one.
func (r *Reader) first() (first *follower, ready bool) {
	for _, f := range r.followers {
		switch {
		case f.ended:
		case f.pending == nil:
			if !f.live {
				return nil, false
			}
		case first == nil || f.pending.chunk.Time.Before(first.pending.chunk.Time):
			first = f
		}
	}
	return first, true
}

// read processes the piece of a follower, which must not deliver another before release.
func (r *Reader) read(f *follower) {
	p := f.pending
	f.pending, r.current = nil, f
	if r.filter.ends(p.chunk.Time) {
		f.ended = true
		f.cancel()
		return
	}
	if err := f.lines[p.chunk.Log].add(p.chunk, p.data, r.emit); err != nil {
		r.reportFailure(f, err)
	}
}

// release lets the current follower continue after its piece was read.
func (r *Reader) release() {
	if r.current != nil {
		r.current.resume()
		r.current = nil
	}
}

// emit adds an entry if it is selected.
func (r *Reader) emit(e rest.LogLine) {
	if e.Kind == rest.LogPrinted && !r.filter.selects(e.Line, e.Time) {
		return
	}
	if e.Kind != rest.LogSilent {
		e.Position = r.position.String()
	}
	if e.Kind == rest.LogPrinted && r.tail.on {
		r.tail.add(e)
		return
	}
	r.out = append(r.out, e)
}

// catchUp runs once nothing older than the present is left to read. It reports whether there are entries to
// return, or no more will follow.
func (r *Reader) catchUp() bool {
	if r.live {
		return false
	}
	r.live = true
	if !r.filter.Follow {
		for _, f := range r.followers {
			f.finish(r.emit)
		}
		r.ended = true
	}
	r.out = append(r.out, r.tail.end()...)
	if r.filter.Follow {
		r.emit(rest.LogLine{Kind: rest.LogLive, Time: time.Now()})
	}
	return true
}

// wait waits until something changes.
func (r *Reader) wait(ctx context.Context) error {
	var changed <-chan struct{}
	if r.filter.Follow && !r.refreshing {
		changed = r.seen.Superseded()
	}
	select {
	case p := <-r.in:
		r.receive(p)
	case <-changed:
		r.refreshing = true
		r.refresh.Reset(refreshDelay)
	case <-r.refresh.C:
		r.refreshing = false
		r.update(r.logs.fleet.Snapshot()) //nolint:contextcheck // followers end with the Reader
	case <-ctx.Done():
		return ctx.Err()
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
	return nil
}

// receive accepts a piece; a piece with lines waits for its turn.
func (r *Reader) receive(p piece) {
	f := p.from
	switch {
	case r.at(f.place) != f: // it is no longer followed
		return
	case p.end:
		f.ended = true
	case p.err != nil:
		r.reportFailure(f, p.err)
	case p.chunk.Live:
		f.live, f.silent = true, false
		if p.chunk.Quiet { // an unterminated line is a prompt, or the last output of a process
			f.finish(r.emit)
		}
	case len(p.data) > 0:
		f.pending = &p
		return
	default:
		if err := f.lines[p.chunk.Log].add(p.chunk, nil, r.emit); err != nil {
			r.reportFailure(f, err)
		}
	}
	f.resume()
}

// reportFailure reports that a replica cannot be read, once until it can be again. The Reader does not wait for it.
func (r *Reader) reportFailure(f *follower, err error) {
	if !f.silent {
		r.report(f.replica.Node, f.address.String(), err.Error())
	}
	f.live, f.silent, f.ended = true, true, f.ended || !r.filter.Follow
}
