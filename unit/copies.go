package unit

import (
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// console is the container's own output, opened when the first program needs
// it.
type console struct {
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	opened *logs.Console
	closed bool
}

// get opens the output; nil: it cannot be, or the unit has ended.
func (c *console) get() *logs.Console {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened != nil || c.closed {
		return c.opened
	}
	var err error
	c.opened, err = logs.NewConsole(logs.ConsoleOptions{
		Now: c.now,
		Dropping: func(stream wire.Stream) {
			c.log.Warn("the container's output is not read fast enough: lines of its copy are dropped", "stream", string(stream))
		},
	})
	if err != nil {
		c.log.Error("cannot copy what programs print", "error", err)
	}
	return c.opened
}

// stats counts what the container's output took; false: nothing is copied.
func (c *console) stats(stream wire.Stream) (logs.Stats, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened == nil {
		return logs.Stats{}, false
	}
	return c.opened.Stats(stream), true
}

func (c *console) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.opened != nil {
		c.opened.Close()
	}
}

// closeConsole writes what waits. The last lines of programs are in it: their
// pipes are emptied first.
func (u *Unit) closeConsole() {
	for _, p := range u.roster.all() {
		p.mu.Lock()
		last := p.output
		p.mu.Unlock()
		last.sync()
	}
	u.console.close()
}

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

// copied gives where a stream of the next run goes: to its log, and to the
// container's output where that is asked for. What an event listener says on
// its stdout is said to the unit.
func (p *program) copied(stream wire.Stream, to io.Writer) io.Writer {
	if p.cfg.Output == config.OutputNone || p.pool != nil && stream == wire.Stdout {
		return to
	}
	output := p.world.console.get()
	if output == nil {
		return to
	}
	p.copies.mu.Lock()
	defer p.copies.mu.Unlock()
	lines, ok := p.copies.streams[stream]
	if !ok {
		style := logs.Prefixed
		if p.cfg.Output == config.OutputJSON {
			style = logs.JSON
		}
		lines = output.Lines(p.cfg.Group, p.cfg.Name, stream, style)
		if p.copies.streams == nil {
			p.copies.streams = map[wire.Stream]*logs.Lines{}
		}
		p.copies.streams[stream] = lines
	}
	return copying{to, lines.Next()}
}

// copying writes to a log and to the container's output; neither keeps the
// other from it.
type copying struct {
	log   io.Writer
	lines *logs.Lines
}

// Write passes p on twice.
func (c copying) Write(p []byte) (int, error) {
	_, logErr := c.log.Write(p)
	_, err := c.lines.Write(p)
	return len(p), errors.Join(logErr, err)
}

// Flush ends the last line.
func (c copying) Flush() { c.lines.Flush() }
