package proctree

import (
	"fmt"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/reaper/reapertest"
)

// sleepers starts that many processes of a program, and waits until all are
// there.
func (w *world) sleepers(program Program, many int) {
	w.t.Helper()
	_, out := w.start(program, reapertest.Shell(fmt.Sprintf(
		"i=0; while [ $i -lt %d ]; do sleep 100000 & i=$((i+1)); done; echo done; exec sleep 100000", many-1)))
	if got := out.line(); got != "done" {
		w.t.Fatalf("the shell printed %q", got)
	}
}

// In the benchmarks this process is no PID 1, so the machine's other processes
// are looked at, too.
func BenchmarkScan(b *testing.B) {
	for _, many := range []int{1, 50, 500} {
		b.Run(fmt.Sprintf("processes=%d", many), func(b *testing.B) {
			w := newBenchWorld(b)
			w.sleepers(1, many)
			for b.Loop() {
				if _, err := w.Scan(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEnd(b *testing.B) {
	for _, many := range []int{1, 50, 500} {
		b.Run(fmt.Sprintf("processes=%d", many), func(b *testing.B) {
			w := newBenchWorld(b)
			for b.Loop() {
				b.StopTimer()
				w.sleepers(1, many)
				b.StartTimer()
				if _, err := w.End(b.Context(), []Program{1}, time.Minute); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkIdentifyAndReapAnOrphan(b *testing.B) {
	w := newBenchWorld(b)
	w.start(1, reapertest.Shell("while :; do ( (exit 0) & ); done"))
	for b.Loop() {
		<-w.orphans
	}
}
