package deploy

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/toskose/toskose/packager/endpoint"
)

// host returns an address of the manager. A port is forwarded to one pod, so
// this is done again when that pod no longer answers.
func (c *cluster) host(ctx context.Context) (string, error) {
	if c.forward != nil && c.answers(ctx) {
		return c.forward.Address, nil
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
	if c.forward, err = c.in.Forward(ctx, pod, c.info.Manager.Port); err != nil {
		return "", err
	}
	return c.forward.Address, nil
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
		if p.Holds("Ready") {
			return p.Metadata.Name, nil
		}
	}
	return "", fmt.Errorf("%s has no pod", service)
}

func (c *cluster) close() {
	if c.forward != nil {
		c.forward.Close()
		c.forward = nil
	}
}

// answers reports whether the manager answers.
func (c *cluster) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	code, _, err := c.d.get(ctx, endpoint.URL(c.d.info, c.forward.Address)+"/healthz", "", "")
	return err == nil && code == http.StatusOK
}
