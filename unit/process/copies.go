package process

import (
	"errors"
	"io"
	"sync"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// outputCopies copies a program's output to the container's output.
type outputCopies struct {
	mu      sync.Mutex
	streams map[wire.Stream]*logs.Lines // one writer per stream, shared by all runs
}

// stats returns the counters of the copied stream, and false if it is not copied.
func (c *outputCopies) stats(stream wire.Stream) (logs.Stats, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines, ok := c.streams[stream]
	if !ok {
		return logs.Stats{}, false
	}
	return lines.Stats(), true
}

// withCopy also copies a log to the container's output if the program is configured so, and returns
// the spool of the copy. The stdout of an event listener is its protocol with the unit and is not
// copied.
func (p *owner) withCopy(to io.Writer, stream wire.Stream) (io.Writer, *logs.Spool) {
	if p.cfg.Output == config.OutputNone || p.pool != nil && stream == wire.Stdout {
		return to, nil
	}
	p.copies.mu.Lock()
	defer p.copies.mu.Unlock()
	lines, ok := p.copies.streams[stream]
	if !ok {
		style := logs.Prefixed
		if p.cfg.Output == config.OutputJSON {
			style = logs.JSON
		}
		lines = p.table.console.Lines(p.cfg.Group, p.cfg.Name, stream, style)
		if p.copies.streams == nil {
			p.copies.streams = map[wire.Stream]*logs.Lines{}
		}
		p.copies.streams[stream] = lines
	}
	return duplicator{to, lines.Next()}, lines.Spool()
}

// duplicator writes to a log and to the container's output. An error of one does not affect the
// other.
type duplicator struct {
	log   io.Writer
	lines *logs.Lines
}

// Write writes p to both.
func (c duplicator) Write(p []byte) (int, error) {
	_, logErr := c.log.Write(p)
	_, err := c.lines.Write(p)
	return len(p), errors.Join(logErr, err)
}

// Flush ends the last line.
func (c duplicator) Flush() { c.lines.Flush() }
