package process

import (
	"errors"
	"io"
	"sync"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// copies are what goes of a program's output to the container's.
type copies struct {
	mu      sync.Mutex
	streams map[wire.Stream]*logs.Lines // a writer of each, of which each run has its own
}

// stats count the bytes that were copied, and dropped; false: none are.
func (c *copies) stats(stream wire.Stream) (logs.Stats, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines, ok := c.streams[stream]
	if !ok {
		return logs.Stats{}, false
	}
	return lines.Stats(), true
}

// withCopy copies what goes to a log to the container's output, where that is
// asked for, and returns what then waits for its reader. What an event listener says on its stdout is said to the unit.
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

// duplicator writes to a log and to the container's output; neither keeps the
// other from it.
type duplicator struct {
	log   io.Writer
	lines *logs.Lines
}

// Write passes p on twice.
func (c duplicator) Write(p []byte) (int, error) {
	_, logErr := c.log.Write(p)
	_, err := c.lines.Write(p)
	return len(p), errors.Join(logErr, err)
}

// Flush ends the last line.
func (c duplicator) Flush() { c.lines.Flush() }
