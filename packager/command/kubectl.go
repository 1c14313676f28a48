package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Cluster is a cluster that kubectl accesses.
type Cluster struct {
	Context   string    // kubectl context; empty: the current context
	Namespace string    // default namespace of commands; empty: none is passed
	Environ   []string  // environment; KUBECONFIG selects the configuration
	Debug     io.Writer // receives output that is not parsed; may be nil
}

// words returns a kubectl command line.
func (c Cluster) words(args ...string) []string {
	words := []string{"kubectl"}
	if c.Context != "" {
		words = append(words, "--context", c.Context)
	}
	if c.Namespace != "" {
		words = append(words, "--namespace", c.Namespace)
	}
	return append(words, args...)
}

func (c Cluster) command(ctx context.Context, args ...string) *exec.Cmd {
	words := c.words(args...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = c.Environ
	return cmd
}

// readTimeout is how long reading kubectl's remaining output may take after it has exited.
const readTimeout = time.Minute

// Run runs kubectl with in as its input and out as its output. Either may be nil; without out, Debug receives the output.
func (c Cluster) Run(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	cmd := c.command(ctx, args...)
	cmd.Stdin, cmd.Stdout = in, out
	if out != nil {
		cmd.WaitDelay = readTimeout
	}
	return run(ctx, cmd, c.Debug)
}

// Output runs kubectl and returns its output.
func (c Cluster) Output(ctx context.Context, args ...string) ([]byte, error) {
	var out bytes.Buffer
	cmd := c.command(ctx, args...)
	cmd.Stdout = &out
	err := run(ctx, cmd, nil)
	return out.Bytes(), err
}

func run(ctx context.Context, cmd *exec.Cmd, debug io.Writer) error {
	err := Run(cmd, debug)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// Names runs `kubectl get` and returns the objects' names as KIND.GROUP/NAME.
func (c Cluster) Names(ctx context.Context, args ...string) ([]string, error) {
	out, err := c.Output(ctx, append(append([]string{"get"}, args...), "--output", "name")...)
	return strings.Fields(string(out)), err
}

// Objects runs kubectl and returns the objects that it prints: a list, one object, or none.
func (c Cluster) Objects(ctx context.Context, args ...string) ([]Object, error) {
	out, err := c.Output(ctx, append(args, "--output", "json")...)
	if err != nil || len(bytes.TrimSpace(out)) == 0 {
		return nil, err
	}
	var found struct {
		Items []Object `json:"items"`
		Object
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("cannot decode the output of kubectl: %w", err)
	}
	if found.Items != nil {
		return found.Items, nil
	}
	return []Object{found.Object}, nil
}

// List runs kubectl and decodes the list of objects that it prints into items, a pointer to a slice.
func (c Cluster) List(ctx context.Context, items any, args ...string) error {
	out, err := c.Output(ctx, append(args, "--output", "json")...)
	if err != nil {
		return err
	}
	list := struct {
		Items any `json:"items"`
	}{items}
	if err := json.Unmarshal(out, &list); err != nil {
		return fmt.Errorf("cannot decode the output of kubectl: %w", err)
	}
	return nil
}

// Object runs kubectl and returns the object that it prints.
func (c Cluster) Object(ctx context.Context, args ...string) (Object, error) {
	all, err := c.Objects(ctx, args...)
	if err != nil || len(all) == 0 {
		return Object{}, err
	}
	return all[0], nil
}

// Configured reports whether kubectl is installed and has a current context.
func (c Cluster) Configured(ctx context.Context) bool {
	if c.Context != "" {
		return true
	}
	_, err := c.Output(ctx, "config", "current-context")
	return err == nil
}

// ForwardLine returns the command with which users forward a port of a service to this machine.
func (c Cluster) ForwardLine(service string, port int) string {
	return strings.Join(c.words("port-forward", "service/"+service, fmt.Sprint(port)), " ")
}
