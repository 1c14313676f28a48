package command

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"sync"
	"time"
)

// Forward is a running `kubectl port-forward`.
type Forward struct {
	Address string // HOST:PORT on this machine
	stop    context.CancelFunc
	ended   chan struct{}
}

// Forward forwards a port of a pod to this machine until the context ends or the result is closed.
func (c Cluster) Forward(ctx context.Context, pod string, port int) (*Forward, error) {
	running, stop := context.WithCancel(ctx)
	from := func(local string) *exec.Cmd {
		cmd := c.command(running, "port-forward", "pod/"+pod, fmt.Sprintf("%s:%d", local, port))
		cmd.WaitDelay = time.Second
		return cmd
	}
	out := &addressWriter{found: make(chan string, 1)}
	var stderr bytes.Buffer
	cmd := from("")
	cmd.Stdout, cmd.Stderr = out, &stderr
	if err := cmd.Start(); err != nil {
		stop()
		return nil, fmt.Errorf("cannot forward a port: %w", err)
	}
	f := &Forward{stop: stop, ended: make(chan struct{})}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it was stopped, or explains its exit on stderr
		close(exited)
	}()
	select {
	case f.Address = <-out.found:
		go func() {
			defer close(f.ended)
			<-exited
			rerun(running, f.Address, from)
		}()
		return f, nil
	case <-exited:
		stop()
		return nil, fmt.Errorf("cannot forward a port%s", Indented(LastLines(stderr.String(), 5)))
	case <-ctx.Done():
		stop()
		<-exited
		return nil, ctx.Err()
	}
}

// Close stops port forwarding and waits until it has stopped.
func (f *Forward) Close() {
	f.stop()
	<-f.ended
}

// rerun reruns the command with the same local port whenever it exits: kubectl exits when a connection breaks.
func rerun(ctx context.Context, address string, from func(port string) *exec.Cmd) {
	_, port, _ := net.SplitHostPort(address)
	for ctx.Err() == nil {
		_ = from(port).Run() // callers notice the failure when they connect
		select {
		case <-time.After(rerunDelay):
		case <-ctx.Done():
		}
	}
}

// rerunDelay is the delay between two runs.
const rerunDelay = 200 * time.Millisecond

// addressWriter extracts the local address from kubectl's output.
type addressWriter struct {
	found chan string
	once  sync.Once
	text  []byte
}

var forwardingFrom = regexp.MustCompile(`Forwarding from (127\.0\.0\.1:[0-9]+|\[::1\]:[0-9]+) -> `)

func (w *addressWriter) Write(p []byte) (int, error) {
	if len(w.text) < 4096 { // kubectl also prints a line for each connection
		w.text = append(w.text, p...)
		if m := forwardingFrom.FindSubmatch(w.text); m != nil {
			w.once.Do(func() { w.found <- string(m[1]) })
		}
	}
	return len(p), nil
}
