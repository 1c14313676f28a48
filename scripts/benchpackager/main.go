// Command benchpackager measures how long toskose takes to package Thinking's manifests and contexts, its
// images, an archive with many nodes, and an archive with large files. It prints a table of results and goals, and exits
// with 1 if a goal is missed. Measurements that need an engine with the base image are skipped, with a message, if there
// is none.
//
//	go run ./scripts/benchpackager [-runs N] [-only TEXT] [-toskose FILE]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// base is the base image of Thinking's toskosed containers.
const base = "python:3.11-slim"

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "benchpackager:", err)
		os.Exit(1)
	}
}

// bench is the measured program and its working folder.
type bench struct {
	dir     string
	toskose string
	runs    int
	missed  bool
}

// measure is a line of the table. Its function returns the duration of each run.
type measure struct {
	name   string
	engine bool // it needs an engine
	take   func(ctx context.Context, b *bench) (result, error)
}

// result holds the measured durations and their limits.
type result struct {
	took   []time.Duration
	goal   time.Duration // 0: none
	memory int64         // maximum of all runs, in bytes
	limit  int64         // of memory; 0: none
	note   string
}

func run(ctx context.Context) error {
	runs := flag.Int("runs", 5, "number of repetitions of short measurements")
	only := flag.String("only", "", "run only measurements whose names contain `TEXT`")
	binary := flag.String("toskose", "bin/toskose", "the program to measure, with the unit and the manager in the same folder")
	flag.Parse()
	dir, err := os.MkdirTemp("", "benchpackager-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, runs: *runs}
	if b.toskose, err = filepath.Abs(*binary); err != nil {
		return err
	}
	if err := b.prepare(); err != nil {
		return err
	}
	engine := exec.CommandContext(ctx, "docker", "image", "inspect", base).Run() == nil
	fmt.Printf("%-58s %10s %10s %10s %10s\n", "", "median", "goal", "memory", "limit")
	for _, m := range measures {
		switch {
		case !strings.Contains(m.name, *only):
			continue
		case m.engine && !engine:
			fmt.Printf("%-58s skipped: no engine with %s\n", m.name, base)
			continue
		}
		r, err := m.take(ctx, b)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		b.print(m.name, r)
	}
	if b.missed {
		return errors.New("a goal was missed")
	}
	return nil
}

func (b *bench) print(name string, r result) {
	slices.Sort(r.took)
	median, mark := r.took[len(r.took)/2], ""
	if r.goal > 0 && median > r.goal || r.limit > 0 && r.memory > r.limit {
		b.missed, mark = true, "  missed"
	}
	orNone := func(show bool, text string) string {
		if show {
			return text
		}
		return "-"
	}
	fmt.Printf("%-58s %10s %10s %10s %10s%s\n", name, median.Round(time.Millisecond),
		orNone(r.goal > 0, r.goal.Round(time.Millisecond).String()), orNone(r.memory > 0, megabytes(r.memory)), orNone(r.limit > 0, megabytes(r.limit)), mark)
	if r.note != "" {
		fmt.Printf("    %s\n", r.note)
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// pack runs toskose on an archive with a new output folder, and returns its duration and peak
// memory.
func (b *bench) pack(ctx context.Context, archive string, args ...string) (time.Duration, int64, error) {
	out, err := os.MkdirTemp(b.dir, "out-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(out)
	cmd := exec.CommandContext(ctx, b.toskose, append(append([]string{"-q", "-o", filepath.Join(out, "manifests")}, args...), archive)...)
	cmd.Dir = out
	began := time.Now()
	text, err := cmd.CombinedOutput()
	took := time.Since(began)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return took, usage.Maxrss * 1024, nil
}

// repeat packages an archive repeatedly, each time from the same initial state.
func (b *bench) repeat(ctx context.Context, before func(context.Context) error, archive string, args ...string) (result, error) {
	var r result
	for range b.runs {
		if before != nil {
			if err := before(ctx); err != nil {
				return r, err
			}
		}
		took, memory, err := b.pack(ctx, archive, args...)
		if err != nil {
			return r, err
		}
		r.took, r.memory = append(r.took, took), max(r.memory, memory)
	}
	return r, nil
}
