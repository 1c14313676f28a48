package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// streams are what a program reads and writes.
type streams struct {
	stdoutLog, stderrLog *logs.File // nil: there is no such log
	copies               copies     // of what it prints, for the container's own output

	piped  sync.Mutex
	stdin  *os.File // nil: there is no main process that could read, nor is one about to
	output Output   // of the latest run
}

// listen takes the standard input of a new run.
func (s *streams) listen(stdin *os.File) {
	s.piped.Lock()
	defer s.piped.Unlock()
	s.stdin = stdin
}

// use takes the output of a new run.
func (s *streams) use(output Output) {
	s.piped.Lock()
	defer s.piped.Unlock()
	s.output = output
}

// Output carries what the latest run writes.
func (s *streams) Output() Output {
	s.piped.Lock()
	defer s.piped.Unlock()
	return s.output
}

// closeStdin gives up the main process's standard input.
func (s *streams) closeStdin() {
	s.piped.Lock()
	defer s.piped.Unlock()
	if s.stdin != nil {
		s.stdin.Close()
		s.stdin = nil
	}
}

// Log returns the log of a stream, nil: the program has none.
func (s *streams) Log(stream wire.Stream) (*logs.File, error) {
	switch stream {
	case wire.Stdout:
		return s.stdoutLog, nil
	case wire.Stderr:
		return s.stderrLog, nil
	}
	return nil, wire.NewFault(wire.BadArguments, fmt.Sprintf("no stream is named %q", stream))
}

// Logs returns the logs that the program has.
func (s *streams) Logs() []*logs.File {
	var files []*logs.File
	for _, f := range []*logs.File{s.stdoutLog, s.stderrLog} {
		if f != nil {
			files = append(files, f)
		}
	}
	return files
}

// CopyStats counts the bytes of a stream that were copied to the container's
// output, and dropped; false: none are.
func (s *streams) CopyStats(stream wire.Stream) (logs.Stats, bool) { return s.copies.stats(stream) }

// ClearLogs empties the program's logs.
func (p *Program) ClearLogs() error {
	for _, f := range p.Logs() {
		if err := f.Clear(); err != nil {
			return wire.NewFault(wire.Failed, fmt.Sprintf("%s: %v", p.Name(), err))
		}
	}
	return nil
}

// WriteStdin writes to the main process's standard input, until it has taken
// all or ctx ends. Its error is ErrNotRunning where nobody reads any more, and
// syscall.EPIPE where the process has closed it.
func (p *Program) WriteStdin(ctx context.Context, chars string) error {
	p.piped.Lock()
	stdin := p.stdin
	p.piped.Unlock()
	if stdin == nil || p.Status().State == wire.Stopping {
		return ErrNotRunning
	}
	stop := context.AfterFunc(ctx, func() { _ = stdin.SetWriteDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() {
			_ = stdin.SetWriteDeadline(time.Time{})
		}
	}()
	_, err := stdin.WriteString(chars)
	if errors.Is(err, os.ErrClosed) {
		return ErrNotRunning
	}
	return err
}
