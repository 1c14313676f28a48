package kubectl

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"sync"
	"time"

	"github.com/toskose/toskose/packager/internal/command"
)

// Forward is a `kubectl port-forward` while it runs.
type Forward struct {
	Address string // HOST:PORT of this machine
	stop    context.CancelFunc
	ended   chan struct{}
}

// Forward brings a port of a pod to this machine, until the context ends or it is closed.
func (c Cluster) Forward(ctx context.Context, pod string, port int) (*Forward, error) {
	running, stop := context.WithCancel(ctx)
	from := func(local string) *exec.Cmd {
		cmd := c.command(running, "port-forward", "pod/"+pod, fmt.Sprintf("%s:%d", local, port))
		cmd.WaitDelay = time.Second
		return cmd
	}
	out := &addressWriter{found: make(chan string, 1)}
	var said bytes.Buffer
	cmd := from("")
	cmd.Stdout, cmd.Stderr = out, &said
	if err := cmd.Start(); err != nil {
		stop()
		return nil, fmt.Errorf("cannot forward a port: %w", err)
	}
	f := &Forward{stop: stop, ended: make(chan struct{})}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is stopped, or says in stderr why it ended
		close(exited)
	}()
	select {
	case f.Address = <-out.found:
		go func() {
			defer close(f.ended)
			<-exited
			again(running, f.Address, from)
		}()
		return f, nil
	case <-exited:
		stop()
		return nil, fmt.Errorf("cannot forward a port%s", command.Indented(command.LastLines(said.String(), 5)))
	case <-ctx.Done():
		stop()
		<-exited
		return nil, ctx.Err()
	}
}

// Close ends it, and waits for that.
func (f *Forward) Close() {
	f.stop()
	<-f.ended
}

// again runs the command again, from the same port, whenever it ends: kubectl does with the
// first connection that breaks.
func again(ctx context.Context, address string, from func(port string) *exec.Cmd) {
	_, port, _ := net.SplitHostPort(address)
	for ctx.Err() == nil {
		_ = from(port).Run() // who asks says what is wrong
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// pause is between two of them.
const pause = 200 * time.Millisecond

// addressWriter looks for an address in what kubectl prints.
type addressWriter struct {
	found chan string
	once  sync.Once
	text  []byte
}

var forwardingFrom = regexp.MustCompile(`Forwarding from (127\.0\.0\.1:[0-9]+|\[::1\]:[0-9]+) -> `)

func (w *addressWriter) Write(p []byte) (int, error) {
	if len(w.text) < 4096 { // it goes on to print a line for each connection
		w.text = append(w.text, p...)
		if m := forwardingFrom.FindSubmatch(w.text); m != nil {
			w.once.Do(func() { w.found <- string(m[1]) })
		}
	}
	return len(p), nil
}
