package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/protocol"
)

const (
	followers = 200
	lineBytes = 200
)

// printing is the protocol of a component whose start prints what it is given.
var printing = protocol.Protocol{
	Initial: "deleted", States: []protocol.State{{Name: "deleted"}, {Name: "started"}},
	Transitions: []protocol.Transition{{Source: "deleted", Target: "started", Operation: protocol.Operation{Interface: "Standard", Name: "start"}}},
}

// printer is a component that prints what is written to it.
type printer struct {
	*os.File
	url string
}

// readLogs measures how soon a line that a process prints is at who follows its log, and how
// many may read a large one at once.
func (b *bench) readLogs(binary string, megabytes int) error {
	var dir string
	units := &fleet{dir: b.dir, perNode: 1, configuration: func(at string, addr netip.AddrPort, node int) string {
		dir = at
		logged := strings.Replace(program(name(node, 0), "start", "/bin/cat "+filepath.Join(at, "printed")),
			"stdout_logfile=NONE", "stdout_logfile="+filepath.Join(at, "log")+"\nstdout_logfile_maxbytes=0", 1)
		return server(at, addr) + logged + component(name(node, 0), printing, "start")
	}}
	defer units.stop()
	if err := units.start(binary, 1); err != nil {
		return err
	}
	app := &tosca.Application{
		Name: "bench", Nodes: []tosca.Node{{Name: "n0", Type: "tosker.nodes.Container", Protocol: protocol.Container()}},
		Components: []tosca.Component{{
			Name: name(0, 0), Type: "tosker.nodes.Software", Host: "n0", Node: "n0", Protocol: printing,
			Interfaces: []tosca.Interface{{Name: "Standard", Operations: []tosca.Operation{{Name: "start", Script: "start.sh"}}}},
		}},
	}
	conf := &config.Config{Nodes: map[string]config.Node{"n0": {Alias: "n0", Port: port, User: user}}}
	m, err := manager.New(app, conf, manager.Options{Containers: units, Passwords: passwordOf, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer m.Close()
	gate, err := access.New(access.Options{First: user, Password: access.Always(password)})
	if err != nil {
		return err
	}
	handler, err := api.New(m, api.Options{Access: gate, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	served := httptest.NewServer(handler)
	defer served.Close()
	defer m.Close() // ends those that follow
	fifo := filepath.Join(dir, "printed")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		return err
	}
	out, err := os.OpenFile(fifo, os.O_RDWR, 0) // so that it never ends
	if err != nil {
		return err
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	x, err := m.Start(ctx, manager.RunRequest{Node: "n0", Component: name(0, 0), Operation: "start", By: "bench"})
	if err == nil {
		x, err = m.Wait(ctx, x.ID)
	}
	if err == nil {
		err = x.Err()
	}
	if err != nil {
		return err
	}
	p := printer{out, served.URL + "/api/v1/logs?follow=true"}
	if err := b.lineDelay(ctx, p, 0); err != nil {
		return err
	}
	if err := b.lineDelay(ctx, p, followers); err != nil {
		return err
	}
	return b.manyFollow(ctx, p, megabytes)
}

// follow calls a function with the lines of the log until it returns false.
func (p printer) follow(ctx context.Context, query string, each func(kind, data []byte) bool) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+query, http.NoBody)
	if err != nil {
		return err
	}
	r.SetBasicAuth(user, password)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("logs are answered with %s", answer.Status)
	}
	lines := bufio.NewScanner(answer.Body)
	var kind []byte
	for lines.Scan() {
		if found, ok := bytes.CutPrefix(lines.Bytes(), []byte("event: ")); ok {
			kind = slices.Clone(found)
		} else if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok && !each(kind, data) {
			return nil
		}
	}
	return fmt.Errorf("the stream of lines ended: %w", lines.Err())
}

// lineDelay is from the write of a line to who follows, beside others who do.
func (b *bench) lineDelay(ctx context.Context, p printer, beside int) error {
	const lines = 200
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var others, live sync.WaitGroup
	defer others.Wait()
	defer cancel()
	for range beside {
		live.Add(1)
		others.Go(func() {
			_ = p.follow(ctx, "&tail=0", func(kind, _ []byte) bool { // it ends with ctx
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
			fmt.Fprintf(p, "at %d %s\n", time.Now().UnixNano(), strings.Repeat("x", 60))
		}
	}()
	defer close(next)
	err := p.follow(ctx, "&tail=0", func(kind, data []byte) bool {
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
		what = fmt.Sprintf("the same beside %d other followers", beside)
	}
	b.row(what+", median", milliseconds(median(delays)), 20, "ms")
	b.row(what+", 99 %", milliseconds(delays[len(delays)*99/100]), 0, "ms")
	return nil
}

// manyFollow has many read all of a log at once, while one reads nothing of it.
func (b *bench) manyFollow(ctx context.Context, p printer, megabytes int) error {
	wanted := megabytes << 20 / lineBytes
	go func() {
		w := bufio.NewWriterSize(p, 64<<10)
		for i := range wanted {
			fmt.Fprintf(w, "large %0*d\n", lineBytes-len("large \n"), i)
		}
		_ = w.Flush()
	}()
	count := func(each func(n int)) error {
		n := 0
		return p.follow(ctx, "&match=^large", func(_, data []byte) bool {
			if bytes.Contains(data, []byte(`"line":"large `)) {
				n++
				each(n)
			}
			return n < wanted
		})
	}
	if err := count(func(int) {}); err != nil { // until all is written
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
	b.row("lines to them", float64(followers*wanted)/whole.Seconds()/1e6, 0, "M/s")
	b.row("the slowest of them / the median", float64(took[len(took)-1])/float64(half), 1.5, "")
	return b.bounded()
}

// bounded is the memory that this process needs with all of them.
func (b *bench) bounded() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes float64
	if _, err := fmt.Sscan(after, &kilobytes); err != nil {
		return err
	}
	b.row("the most resident memory, of them and the manager", kilobytes/1024, 0, "MB")
	return nil
}
