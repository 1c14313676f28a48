package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"time"
)

// forward is a `kubectl port-forward` while it runs.
type forward struct {
	d       *deployer
	address string // HOST:PORT of this machine
	stop    context.CancelFunc
	ended   chan struct{}
}

// host returns an address of the manager. A port is forwarded to one pod, so
// this is done again when that pod no longer answers.
func (c *cluster) host(ctx context.Context) (string, error) {
	if c.forward != nil && c.forward.answers(ctx) {
		return c.forward.address, nil
	}
	c.close()
	r, err := c.look(ctx)
	if err != nil {
		return "", err
	}
	pod, err := r.pod(c.info.Manager.Service)
	if err != nil {
		return "", err
	}
	c.forward, err = c.d.forwardTo(ctx, c.words("port-forward", "pod/"+pod, fmt.Sprintf(":%d", c.info.Manager.Port)))
	if err != nil {
		return "", err
	}
	return c.forward.address, nil
}

// pod returns a pod of a workload that is complete: until then, an earlier one may
// be among them, with another password.
func (r rollout) pod(service string) (string, error) {
	for _, f := range r.failures() {
		if f.service == service {
			return "", errors.New(f.why)
		}
	}
	for _, p := range r.podsOf(service) {
		if p.ready() {
			return p.Metadata.Name, nil
		}
	}
	return "", fmt.Errorf("%s has no pod", service)
}

func (c *cluster) close() {
	if c.forward != nil {
		c.forward.stop()
		<-c.forward.ended
		c.forward = nil
	}
}

// answers reports whether the manager answers.
func (f *forward) answers(ctx context.Context) bool {
	select {
	case <-f.ended:
		return false
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	code, _, err := f.d.get(ctx, scheme(f.d.info)+f.address+"/healthz", "", "")
	return err == nil && code == http.StatusOK
}

// forwardTo runs a command that prints where it forwards from, and whose last word
// is the port to forward to, as ":PORT".
func (d *deployer) forwardTo(ctx context.Context, words []string) (*forward, error) {
	running, stop := context.WithCancel(ctx)
	out := &addressWriter{found: make(chan string, 1)}
	var said bytes.Buffer
	cmd := exec.CommandContext(running, words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = d.opts.Dir, d.opts.Environ, out, &said
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		stop()
		return nil, fmt.Errorf("cannot forward a port: %w", err)
	}
	f := &forward{d: d, stop: stop, ended: make(chan struct{})}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is stopped, or says in stderr why it ended
		close(exited)
	}()
	select {
	case f.address = <-out.found:
		go func() {
			defer close(f.ended)
			<-exited
			d.forwardAgain(running, words, f.address)
		}()
		return f, nil
	case <-exited:
		stop()
		return nil, fmt.Errorf("cannot forward a port%s", indented(lastLines(said.String(), 5)))
	case <-ctx.Done():
		stop()
		<-exited
		return nil, ctx.Err()
	}
}

// forwardAgain runs the command again, from the same port, whenever it ends: kubectl
// does with the first connection that breaks.
func (d *deployer) forwardAgain(ctx context.Context, words []string, address string) {
	last := len(words) - 1
	_, port, _ := net.SplitHostPort(address)
	words = append(slices.Clone(words[:last]), port+words[last])
	for ctx.Err() == nil {
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Dir, cmd.Env, cmd.WaitDelay = d.opts.Dir, d.opts.Environ, time.Second
		_ = cmd.Run() // who asks the manager says what is wrong
		select {
		case <-time.After(forwardPause):
		case <-ctx.Done():
		}
	}
}

// forwardPause is between two of them.
const forwardPause = 200 * time.Millisecond

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
