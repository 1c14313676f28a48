package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// Host returns the address of the manager's forwarded port. A port is forwarded to one pod; Host forwards it again if that pod
// no longer answers.
func (c *Cluster) Host(ctx context.Context) (string, error) {
	if c.port != nil && c.answers(ctx) {
		return c.port.Address, nil
	}
	c.Close()
	r, err := c.observe(ctx)
	if err != nil {
		return "", err
	}
	pod, err := r.pod(c.info.Manager.Service)
	if err != nil {
		return "", err
	}
	if c.port, err = c.in.Forward(ctx, pod, c.info.Manager.Port); err != nil {
		return "", err
	}
	return c.port.Address, nil
}

// pod returns a ready pod of a workload whose rollout is complete. Until then, an old pod with another password may be among
// them.
func (r rollout) pod(service string) (string, error) {
	for _, f := range r.failures() {
		if f.Service == service {
			return "", errors.New(f.Why)
		}
	}
	for _, p := range r.podsOf(service) {
		if p.Holds("Ready") {
			return p.Metadata.Name, nil
		}
	}
	return "", fmt.Errorf("%s has no pod", service)
}

// Forward returns the command that forwards the manager's port to this machine.
func (c *Cluster) Forward() string {
	return c.in.ForwardLine(c.info.Manager.Service, c.info.Manager.Port)
}

// Close ends port forwarding.
func (c *Cluster) Close() {
	if c.port != nil {
		c.port.Close()
		c.port = nil
	}
}

// answers reports whether the manager answers.
func (c *Cluster) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, backend.Patience)
	defer cancel()
	code, _, err := c.Get(ctx, backend.ManagerURL(c.Info, c.port.Address)+"/healthz", "", "")
	return err == nil && code == http.StatusOK
}
