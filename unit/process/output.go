package process

import (
	"io"
	"os"

	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// Output carries what a main process and its children write.
type Output struct {
	PID            int        // of the main process, also when it has ended
	stdout, stderr *logs.Pump // stderr is nil when it goes where stdout does
	author         *author
	filters        []*logs.Filter
}

// ends are those of the pipes that the child gets.
type ends struct{ in, out, err *os.File } // err is out when stderr goes where stdout does

func (e ends) close() {
	for _, f := range []*os.File{e.in, e.out, e.err} {
		_ = f.Close() // nil, or closed before: an error, and nothing else
	}
}

// open makes the pipes; the child's ends are the caller's to close. One program
// at a time does, and what is refused is closed before the next one does, so
// that many starts at once cannot use up the reserve among them, either.
func (o *Output) open(p *owner) (stdin *os.File, childs ends, err error) {
	p.table.opening.Lock()
	defer p.table.opening.Unlock()
	if childs.in, stdin, err = os.Pipe(); err != nil {
		return nil, ends{}, err
	}
	if childs.out, childs.err, err = o.start(p); err == nil {
		err = checkReserve(childs.err, 2) // and its two logs
	}
	if err != nil {
		stdin.Close()
		childs.close()
		o.close()
		return nil, ends{}, err
	}
	return stdin, childs, nil
}

// start begins to carry what the child is going to write.
func (o *Output) start(p *owner) (childOut, childErr *os.File, err error) {
	if o.stdout, childOut, err = o.pump(p, p.stdoutLog, wire.Stdout); err != nil || p.cfg.RedirectStderr {
		return childOut, childOut, err
	}
	o.stderr, childErr, err = o.pump(p, p.stderrLog, wire.Stderr)
	return childOut, childErr, err
}

// pump carries a stream of the next run. The program is held when nobody reads what
// goes to the container's output, a pipe or a terminal.
func (o *Output) pump(p *owner, file *logs.File, stream wire.Stream) (*logs.Pump, *os.File, error) {
	var holders []logs.Holder
	if file != nil {
		holders = append(holders, file)
	}
	if p.pool != nil && stream == wire.Stdout {
		for _, s := range p.relays() {
			holders = append(holders, s)
		}
	}
	to, copied := p.withCopy(o.writer(p, file, stream), stream)
	return logs.Start(to, logs.PumpOptions{Holders: append(holders, copied), Held: func() {
		p.table.log.Warn("held: nobody reads what it prints", "process", p.Name(), "stream", string(stream))
	}})
}

// writer returns where a stream of the next run goes, besides the container's output.
func (o *Output) writer(p *owner, file *logs.File, stream wire.Stream) io.Writer {
	settings := p.Settings().Stdout
	if stream == wire.Stderr {
		settings = p.Settings().Stderr
	}
	log := io.Discard
	if file != nil {
		log = file
	}
	if settings.Syslog {
		log = withSyslog(log, p.syslog())
	}
	by := o.author
	var filter *logs.Filter
	speaks := p.pool != nil && stream == wire.Stdout
	if !speaks && (p.table.o.StripANSI || settings.CaptureMaxBytes > 0) {
		filter = logs.NewFilter(logs.FilterOptions{
			StripANSI: p.table.o.StripANSI, CaptureMax: settings.CaptureMaxBytes,
			Captured: func(data []byte) {
				<-by.known
				p.table.o.Events.Emit(events.Communication(p.eventful(), by.pid, stream, data))
			},
		})
		o.filters = append(o.filters, filter)
		log = filter.Sink(log)
	}
	to := p.withEvents(p.withDebug(log, stream), stream, by)
	if filter != nil {
		filter.Pass(to)
		to = filter
	}
	return p.readiness.tap(to)
}

// openLogs is last, since a log that was opened stays so, also where nothing is
// started. One that cannot be opened is tried again with every write.
func (p *owner) openLogs() {
	for _, f := range p.Logs() {
		if err := f.Open(); err != nil {
			p.table.log.Warn("cannot open a log", "process", p.Name(), "error", err)
		}
	}
}

// sync takes in what a process that has ended wrote, to the end of a line that
// has none.
func (o Output) sync() {
	for _, pump := range []*logs.Pump{o.stdout, o.stderr} {
		if pump != nil {
			pump.Drain()
			pump.Flush()
		}
	}
	for _, f := range o.filters {
		f.Flush()
	}
}

func (o Output) close() {
	o.author.is(0, nil)
	for _, pump := range []*logs.Pump{o.stdout, o.stderr} {
		if pump != nil {
			pump.Close()
		}
	}
}

// End returns the end of each stream, what is still in its pipe included, unless
// the program is held.
func (o Output) End() (end wire.Output) {
	of := func(p *logs.Pump) string {
		if p == nil {
			return ""
		}
		p.Sync()
		tail, cut := p.Tail()
		end.Truncated = end.Truncated || cut
		return string(tail)
	}
	end.Stdout, end.Stderr = of(o.stdout), of(o.stderr)
	return end
}
