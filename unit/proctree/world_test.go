package proctree

import (
	"bufio"
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/reaper/reapertest"
)

func TestMain(m *testing.M) { reapertest.Main(m) }

// patience is how long anything may take before a test gives up.
const patience = 60 * time.Second

// world is a reaper and a tree at work, as in a unit.
type world struct {
	*Tree
	t       testing.TB
	reaper  *reaper.Reaper
	orphans chan Process // as they were identified before they were reaped
	exits   sync.Map     // their pids to their exits
	hook    func()       // called before an orphan is reaped
	reaping atomic.Int64 // how many orphans were about to be
}

// newWorld sets one up; whatever still runs when the test ends is killed.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Cleanup(func() { leak.None(t) })
	return newBenchWorld(t)
}

func newBenchWorld(t testing.TB) *world {
	t.Helper()
	return newWorldWith(t, Options{})
}

func newWorldWith(t testing.TB, options Options) *world {
	t.Helper()
	w := &world{t: t, orphans: make(chan Process, 1<<16)}
	still := func(do func(forked func(pid int) bool)) { w.reaper.Freeze(do) }
	options.Tick, options.Freeze = 5*time.Millisecond, still
	tree, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	w.Tree = tree
	w.reaper, err = reaper.New(reaper.Options{
		Orphan: func(pid int, exit reaper.Exit, _ time.Duration) {
			p, err := tree.Identify(pid)
			if err != nil {
				t.Errorf("an orphan that was not reaped yet: %v", err)
			}
			if owner := tree.Owner(pid); owner != p.Program {
				t.Errorf("orphan %d is of program %d, and identified as %+v", pid, owner, p)
			}
			w.exits.Store(pid, exit)
			w.orphans <- p
			w.reaping.Add(1)
			if w.hook != nil {
				w.hook()
			}
		},
		Drained: tree.Drained,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.reaper.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		w.killAll()
		cancel()
		running.Wait()
	})
	return w
}

func (w *world) killAll() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	processes, err := w.Scan()
	if err != nil {
		w.t.Error(err)
	}
	all := []Program{Unclaimed}
	for _, p := range processes {
		all = append(all, p.Program)
	}
	if ending, err := w.End(ctx, all, 0); err != nil {
		w.t.Errorf("%v, left: %v", err, ending.Left)
	}
}

// pipe is what a program printed.
type pipe struct {
	t     testing.TB
	lines *bufio.Reader
	file  *os.File
}

// start runs a program's process, and gives its output.
func (w *world) start(program Program, argv []string) (*reaper.Child, *pipe) {
	w.t.Helper()
	spec := reaper.Spec{
		Around: w.Around(program, program),
		Env:    append(w.Env(program, "api", "Standard.start"), "PATH="+os.Getenv("PATH")),
	}
	return w.startSpec(spec, argv)
}

func (w *world) startSpec(spec reaper.Spec, argv []string) (*reaper.Child, *pipe) {
	w.t.Helper()
	r, wr, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { r.Close() })
	spec.Path, spec.Args, spec.Stdout, spec.Stderr = argv[0], argv, wr, os.Stderr
	child, err := w.reaper.Start(spec)
	if err != nil {
		w.t.Fatal(err)
	}
	wr.Close()
	return child, &pipe{w.t, bufio.NewReader(r), r}
}

func (p *pipe) line() string {
	p.t.Helper()
	if err := p.file.SetReadDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	line, err := p.lines.ReadString('\n')
	if err != nil {
		p.t.Fatalf("got %q and then %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *pipe) pid() int {
	p.t.Helper()
	line := p.line()
	if line == "lingering" {
		line = p.line()
	}
	pid, err := strconv.Atoi(line)
	if err != nil {
		p.t.Fatal(err)
	}
	return pid
}

// find returns one process of a scan.
func (w *world) find(pid int) Process {
	w.t.Helper()
	processes, err := w.Scan()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range processes {
		if p.PID == pid {
			return p
		}
	}
	w.t.Fatalf("process %d is not in %v", pid, processes)
	return Process{}
}

// end ends programs, and fails the test where that does not work.
func (w *world) end(grace time.Duration, programs ...Program) EndResult {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	ending, err := w.End(ctx, programs, grace)
	if err != nil {
		w.t.Fatalf("%v, left: %v", err, ending.Left)
	}
	return ending
}

func (w *world) orphan(pid int) Process {
	w.t.Helper()
	giveUp := time.After(patience)
	for {
		select {
		case p := <-w.orphans:
			if p.PID == pid {
				return p
			}
		case <-giveUp:
			w.t.Fatalf("the end of orphan %d was not seen", pid)
		}
	}
}

func (w *world) done(child *reaper.Child) {
	w.t.Helper()
	select {
	case <-child.Done():
	case <-time.After(patience):
		w.t.Fatalf("the end of child %d was not seen", child.PID())
	}
}

// signals returns the signals that a process got.
func signals(ending EndResult, pid int) (got []syscall.Signal) {
	for _, s := range ending.Signalled {
		if s.Process.PID == pid {
			got = append(got, s.Signal)
		}
	}
	return got
}
