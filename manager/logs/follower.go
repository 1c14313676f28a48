package logs

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

// piece is the next piece of a unit's logs, or the error that prevents reading it.
type piece struct {
	from  *follower
	chunk wire.LogChunk
	data  []byte
	err   error // why the unit cannot be read
	end   bool  // everything was read
}

// follower reads the logs of one replica.
type follower struct {
	place
	replica fleet.Replica
	key     instanceKey
	request wire.LogsRequest // its cursors advance with the delivered pieces
	lines   []*lines         // in the request's order
	cancel  context.CancelFunc
	taken   chan struct{} // signals that a piece was read; buffered

	// The Reader uses the fields below.
	pending *piece // nil: no unread piece
	live    bool   // it has no older lines, or is unresponsive: the Reader does not wait for it
	silent  bool   // its failure was reported
	ended   bool   // no more pieces follow
}

// finish emits unterminated lines.
func (f *follower) finish(emit func(rest.LogLine)) {
	for _, l := range f.lines {
		l.finish(emit)
	}
}

// run is the follower's goroutine. It ends with ctx or, unless it follows, when all is read or nothing can be
// read.
func (f *follower) run(ctx context.Context, out chan<- piece) {
	const least, most = 20 * time.Millisecond, 2 * time.Second
	for delay := least; ; delay = min(2*delay, most) {
		opened, err := f.read(ctx, out)
		if opened {
			delay = least
		}
		// The unit disconnects slow readers; they reconnect.
		if !opened || !f.request.Follow {
			if !f.give(ctx, out, piece{from: f, err: err, end: err == nil}) {
				return
			}
		}
		if !f.request.Follow {
			return
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return
		}
	}
}

// read reads until the unit ends the response, without an error if all is read; opened reports whether the unit
// responded.
func (f *follower) read(ctx context.Context, out chan<- piece) (opened bool, err error) {
	logs, err := f.replica.Unit.Logs(ctx, f.request)
	if err != nil {
		return false, err
	}
	defer logs.Close()
	for {
		chunk, data, err := logs.Next()
		if err == io.EOF { //nolint:errorlint // a broken connection may wrap io.EOF in another error
			return true, nil
		}
		if err != nil {
			return true, err
		}
		if !chunk.Live && (chunk.Log < 0 || chunk.Log >= len(f.lines)) {
			return true, fmt.Errorf("%s names a log that was not requested", f.replica)
		}
		if !f.give(ctx, out, piece{from: f, chunk: chunk, data: data}) {
			return true, ctx.Err()
		}
		if chunk.Live || chunk.Bytes > 0 { // the start of the logs is known by then
			f.request.Since, f.request.Last = time.Time{}, 0
		}
		if !chunk.Live {
			at, err := parseCursor(chunk.At)
			if err != nil {
				return true, err
			}
			at.offset += uint64(len(data))
			f.request.Logs[chunk.Log].After = at.String()
		}
	}
}

// resume lets the goroutine continue after its piece was read.
func (f *follower) resume() { f.taken <- struct{}{} } // the channel has room

// give passes a piece to the Reader and waits until it is read.
func (f *follower) give(ctx context.Context, out chan<- piece, p piece) bool {
	select {
	case out <- p:
	case <-ctx.Done():
		return false
	}
	select {
	case <-f.taken:
		return true
	case <-ctx.Done():
		return false
	}
}
