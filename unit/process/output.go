package process

import (
	"io"
	"os"

	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// Output pumps the output of a main process and its descendants.
type Output struct {
	PID            int        // of the main process, also after it exited
	stdout, stderr *logs.Pump // stderr is nil if it is redirected to stdout
	source         *outputSource
	filters        []*logs.Filter
}

// pipeEnds are the child's ends of the pipes.
type pipeEnds struct{ in, out, err *os.File } // err equals out if stderr is redirected to stdout

func (e pipeEnds) close() {
	for _, f := range []*os.File{e.in, e.out, e.err} {
		_ = f.Close() // nil or closed already
	}
}

// open creates the pipes; the caller closes the child's ends. Only one program at a time does so,
// closing what checkReserve rejects before the next one begins, so that parallel starts cannot use
// up the reserve.
func (o *Output) open(p *owner) (stdin *os.File, childs pipeEnds, err error) {
	p.table.opening.Lock()
	defer p.table.opening.Unlock()
	if childs.in, stdin, err = os.Pipe(); err != nil {
		return nil, pipeEnds{}, err
	}
	if childs.out, childs.err, err = o.start(p); err == nil {
		err = checkReserve(childs.err, 2) // the two logs
	}
	if err != nil {
		stdin.Close()
		childs.close()
		o.close()
		return nil, pipeEnds{}, err
	}
	return stdin, childs, nil
}

// start starts the pumps of the child's output.
func (o *Output) start(p *owner) (childOut, childErr *os.File, err error) {
	if o.stdout, childOut, err = o.pump(p, p.stdoutLog, wire.Stdout); err != nil || p.cfg.RedirectStderr {
		return childOut, childOut, err
	}
	o.stderr, childErr, err = o.pump(p, p.stderrLog, wire.Stderr)
	return childOut, childErr, err
}

// pump creates the pump of one stream. While a copy waits for the reader of the container's output,
// a pipe or a terminal, the program's output blocks.
func (o *Output) pump(p *owner, file *logs.File, stream wire.Stream) (*logs.Pump, *os.File, error) {
	var holders []logs.Blocker
	if file != nil {
		holders = append(holders, file)
	}
	if p.pool != nil && stream == wire.Stdout {
		for _, s := range p.relaySpools() {
			holders = append(holders, s)
		}
	}
	to, copied := p.withCopy(o.writer(p, file, stream), stream)
	return logs.Start(to, logs.PumpOptions{Spools: append(holders, copied), Blocked: func() {
		p.table.log.Warn("blocked: its output is not being read", "process", p.Name(), "stream", string(stream))
	}})
}

// writer returns the destination of a stream besides the container's output.
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
	by := o.source
	var filter *logs.Filter
	speaks := p.pool != nil && stream == wire.Stdout
	if !speaks && (p.table.opts.StripANSI || settings.CaptureMaxBytes > 0) {
		filter = logs.NewFilter(logs.FilterOptions{
			StripANSI: p.table.opts.StripANSI, CaptureMax: settings.CaptureMaxBytes,
			Captured: func(data []byte) {
				<-by.known
				p.table.opts.Events.Emit(events.Communication(p.eventProcess(), by.pid, stream, data))
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

// openLogs is called last, since an opened log stays open even if nothing is started. A log that
// cannot be opened is retried with every write.
func (p *owner) openLogs() {
	for _, f := range p.Logs() {
		if err := f.Open(); err != nil {
			p.table.log.Warn("cannot open a log", "process", p.Name(), "error", err)
		}
	}
}

// sync collects the remaining output of a process that has ended, including an unfinished line.
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
	o.source.set(0, nil)
	for _, pump := range []*logs.Pump{o.stdout, o.stderr} {
		if pump != nil {
			pump.Close()
		}
	}
}

// End returns the end of each stream, including the rest in its pipe unless output is blocked.
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
