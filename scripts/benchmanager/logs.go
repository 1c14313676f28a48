package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/toskose/toskose/manager/rest"
)

const (
	followers = 200
	lineBytes = 200
)

// printer is a component that prints the lines written to a pipe, with its unit and manager.
type printer struct {
	*single
	served
	pipe *os.File
}

// all is the path of its complete output.
const all = "/api/v1/logs?follow=true"

// readLogs measures the delay until a printed line reaches a client that follows the log, and how many
// clients can read a large log at the same time.
func (b *bench) readLogs(binary string, megabytes int) error {
	p, err := b.print(binary)
	if err != nil {
		return err
	}
	defer p.end()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := b.lineDelay(ctx, p, 0); err != nil {
		return err
	}
	if err := b.lineDelay(ctx, p, followers); err != nil {
		return err
	}
	return b.manyFollow(ctx, p, megabytes)
}

// print runs a component that prints, and a manager with its API.
func (b *bench) print(binary string) (*printer, error) {
	var dir string
	s, err := runSingle(b.dir, binary, 0, func(at string) string {
		dir = at
		return strings.Replace(program("n0c0", "start", "/bin/cat "+filepath.Join(at, "printed")),
			"stdout_logfile=NONE", "stdout_logfile="+filepath.Join(at, "log")+"\nstdout_logfile_maxbytes=0", 1)
	})
	if err != nil {
		return nil, err
	}
	p := &printer{single: s}
	if p.served, err = serve(s.app); err == nil {
		err = p.start(filepath.Join(dir, "printed"))
	}
	if err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// start starts the component that prints the lines written to a pipe.
func (p *printer) start(pipe string) error {
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		return err
	}
	var err error
	if p.pipe, err = os.OpenFile(pipe, os.O_RDWR, 0); err != nil { // opened for reading and writing, so that it has no end
		return err
	}
	x, err := p.app.Start(context.Background(), rest.RunRequest{Node: "n0", Component: "n0c0", Operation: "start", By: "bench"})
	if err == nil {
		x, err = p.app.Wait(context.Background(), x.ID)
	}
	if err == nil {
		err = x.Err()
	}
	return err
}

// end also ends the requests that follow the log.
func (p *printer) end() {
	p.stop()
	if p.Server != nil {
		p.Close()
	}
	if p.pipe != nil {
		p.pipe.Close()
	}
}

// lineDelay measures the time from the write of a line to its arrival at a follower, with other
// followers.
func (b *bench) lineDelay(ctx context.Context, p *printer, beside int) error {
	const lines = 200
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var others, live sync.WaitGroup
	defer others.Wait()
	defer cancel()
	for range beside {
		live.Add(1)
		others.Go(func() {
			_ = p.follow(ctx, all+"&tail=0", func(kind, _ []byte) bool { // it ends with ctx
				if string(kind) == "live" {
					live.Done()
				}
				return true
			})
		})
	}
	live.Wait()
	var delays []time.Duration
	next := make(chan struct{}, 1)
	go func() {
		for range next {
			time.Sleep(10 * time.Millisecond)
			fmt.Fprintf(p.pipe, "at %d %s\n", time.Now().UnixNano(), strings.Repeat("x", 60))
		}
	}()
	defer close(next)
	err := p.follow(ctx, all+"&tail=0", func(kind, data []byte) bool {
		_, after, _ := bytes.Cut(data, []byte(`"line":"at `))
		written, _, _ := bytes.Cut(after, []byte(" "))
		if at, err := strconv.ParseInt(string(written), 10, 64); err == nil {
			delays = append(delays, time.Since(time.Unix(0, at)))
		} else if string(kind) != "live" {
			return true
		}
		if len(delays) < lines {
			next <- struct{}{}
		}
		return len(delays) < lines
	})
	if err != nil {
		return err
	}
	what := "a line from a process to a follower of its log"
	if beside > 0 {
		what = fmt.Sprintf("the same with %d other followers", beside)
	}
	b.row(what+", median", milliseconds(median(delays)), 20, "ms")
	b.row(what+", 99 %", milliseconds(delays[len(delays)*99/100]), 0, "ms")
	return nil
}

// manyFollow makes many clients read a complete log at the same time, while another client stalls.
func (b *bench) manyFollow(ctx context.Context, p *printer, megabytes int) error {
	wanted := megabytes << 20 / lineBytes
	go func() {
		w := bufio.NewWriterSize(p.pipe, 64<<10)
		for i := range wanted {
			fmt.Fprintf(w, "large %0*d\n", lineBytes-len("large \n"), i)
		}
		_ = w.Flush()
	}()
	count := func(each func(n int)) error {
		n := 0
		return p.follow(ctx, all+"&match=^large", func(_, data []byte) bool {
			if bytes.Contains(data, []byte(`"line":"large `)) {
				n++
				each(n)
			}
			return n < wanted
		})
	}
	if err := count(func(int) {}); err != nil { // until the log is complete
		return err
	}
	stalled := make(chan struct{})
	var all, stalling sync.WaitGroup
	stalling.Go(func() { _ = count(func(int) { <-stalled }) })
	took, failed := make([]time.Duration, followers), make([]error, followers)
	begun := time.Now()
	for i := range followers {
		all.Go(func() {
			failed[i] = count(func(int) {})
			took[i] = time.Since(begun)
		})
	}
	all.Wait()
	whole := time.Since(begun)
	close(stalled)
	stalling.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	half := median(took)
	b.row(fmt.Sprintf("%d followers of %d MB each, one more that stalls", followers, megabytes), whole.Seconds(), 0, "s")
	b.row("lines sent to the followers", float64(followers*wanted)/whole.Seconds()/1e6, 0, "M/s")
	b.row("the slowest follower / the median", float64(took[len(took)-1])/float64(half), 1.5, "")
	return b.resident("VmHWM", "peak resident memory of the followers and the manager", 0)
}
