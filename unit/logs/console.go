package logs

import (
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// Console is the container's own output, to which lines of programs are copied. Writers never wait
// for its reader.
type Console struct {
	now            func() time.Time
	stdout, stderr *outlet
}

// NewConsole copies to the process's stdout and stderr. If both are the same file or pipe,
// everything goes to the first, in order. now provides the time of a line.
func NewConsole(now func() time.Time) *Console {
	own := outlets()
	return &Console{now: now, stdout: own[0], stderr: own[1]}
}

// Stats returns the bytes written to one stream of the container's output, and those dropped. If
// both streams are the same, so are their counters.
func (c *Console) Stats(stream wire.Stream) Stats {
	o := c.outlet(stream)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stats
}

func (c *Console) outlet(stream wire.Stream) *outlet {
	if stream == wire.Stderr {
		return c.stderr
	}
	return c.stdout
}
