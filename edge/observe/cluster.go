// Package observe reads the state of a cluster of edge machines through the caller's kubectl: of its machines, its applications, and
// Longhorn's volumes. It changes nothing. Its goroutines end before a function returns.
package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toskose/toskose/packager/command"
)

// Cluster is a cluster that kubectl reads.
type Cluster struct {
	Kubectl command.Cluster
	Servers []string      // addresses of API servers to try when the one of kubectl's context does not answer
	Timeout time.Duration // of one request

	server string // the address that answers; empty: the context's
}

// DownError reports that no API server of a cluster answers.
type DownError struct{ Err error }

func (e DownError) Error() string {
	return fmt.Sprintf("no API server of the cluster answers: %v", e.Err)
}

func (e DownError) Unwrap() error { return e.Err }

// Reach returns the cluster with an API server that answers, or a DownError.
func (c Cluster) Reach(ctx context.Context) (Cluster, error) {
	if _, err := c.Kubectl.Output(ctx, "config", "view", "--minify", "--output", "name"); err != nil {
		return c, fmt.Errorf("kubectl has no access to the cluster: name its context by --context: %w", err)
	}
	err := c.alive(ctx)
	if err == nil || refused(err) || ctx.Err() != nil {
		return c, err
	}
	found := make([]bool, len(c.Servers))
	var group errgroup.Group
	for i, address := range c.Servers {
		group.Go(func() error {
			other := c
			other.server = address
			found[i] = other.alive(ctx) == nil
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	for i, ok := range found {
		if ok {
			c.server = c.Servers[i]
			return c, nil
		}
	}
	return c, DownError{err}
}

func (c Cluster) alive(ctx context.Context) error {
	_, err := c.get(ctx, "--raw", "/livez")
	return err
}

// refused reports whether an API server has denied access. kubectl has no exit code for that, only a text.
func refused(err error) bool {
	var failed *command.Error
	return errors.As(err, &failed) && (strings.Contains(failed.Output, "(Forbidden)") || strings.Contains(failed.Output, "(Unauthorized)"))
}

// get runs `kubectl get`.
func (c Cluster) get(ctx context.Context, args ...string) ([]byte, error) {
	return c.Kubectl.Output(ctx, c.words(args)...)
}

// list reads a list of objects into items.
func (c Cluster) list(ctx context.Context, items any, args ...string) error {
	return c.Kubectl.List(ctx, items, c.words(args)...)
}

func (c Cluster) words(args []string) []string {
	words := append([]string{"get"}, args...)
	if c.server != "" {
		words = append(words, "--server", c.server)
	}
	return append(words, "--request-timeout", c.Timeout.String())
}
