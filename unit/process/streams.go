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

// streams are the standard files of a program.
type streams struct {
	stdoutLog, stderrLog *logs.File   // nil if there is no such log
	copies               outputCopies // of its output to the container's output

	piped  sync.Mutex
	stdin  *os.File // nil unless a main process can read from it
	output Output   // of the latest run
}

// listen sets the standard input of a new run.
func (s *streams) listen(stdin *os.File) {
	s.piped.Lock()
	defer s.piped.Unlock()
	s.stdin = stdin
}

// use sets the output of a new run.
func (s *streams) use(output Output) {
	s.piped.Lock()
	defer s.piped.Unlock()
	s.output = output
}

// Output returns the output of the latest run.
func (s *streams) Output() Output {
	s.piped.Lock()
	defer s.piped.Unlock()
	return s.output
}

// closeStdin closes the standard input of the main process.
func (s *streams) closeStdin() {
	s.piped.Lock()
	defer s.piped.Unlock()
	if s.stdin != nil {
		s.stdin.Close()
		s.stdin = nil
	}
}

// Log returns the log of a stream, or nil if there is none.
func (s *streams) Log(stream wire.Stream) (*logs.File, error) {
	switch stream {
	case wire.Stdout:
		return s.stdoutLog, nil
	case wire.Stderr:
		return s.stderrLog, nil
	}
	return nil, wire.NewFault(wire.BadArguments, fmt.Sprintf("no stream is named %q", stream))
}

// Logs returns the logs of the program.
func (s *streams) Logs() []*logs.File {
	var files []*logs.File
	for _, f := range []*logs.File{s.stdoutLog, s.stderrLog} {
		if f != nil {
			files = append(files, f)
		}
	}
	return files
}

// CopyStats returns the counters of a stream that is copied to the container's output, and false if
// it is not.
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

// WriteStdin writes to the standard input of the main process until all is written or ctx ends. It
// returns ErrNotRunning if no process can read it, and syscall.EPIPE if the process has closed it.
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
