package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/docker/docker/api/types/system"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/conflict"
)

// others refuses what another application, or somebody else, has on the engine: its
// ports, its name, or those of its containers.
func (d *deployer) others(engine system.Info, asStack bool) func(context.Context) error {
	return func(ctx context.Context) error {
		ports, err := conflict.PortsOf(d.opts.Dir, d.info)
		if err != nil {
			return err
		}
		services, err := compose.Services(d.opts.Dir)
		if err != nil {
			return err
		}
		on := conflict.On(d.engine, engine, d.info.App, asStack)
		return errors.Join(on.Name(ctx), on.Parts(ctx, services), on.Ports(ctx, ports))
	}
}

// others refuses objects that are in the namespace already and not the application's:
// applying the manifests would change them, and removing it would remove them.
func (c *cluster) others(ctx context.Context) error {
	found, err := c.all.Objects(ctx, "get", "--kustomize", c.d.opts.Dir, "--ignore-not-found")
	if err != nil {
		return err
	}
	var problems []error
	for _, o := range found {
		app, ours := c.info.Owner(o.Metadata.Labels)
		if ours || o.Kind == "Namespace" && app == "" { // which was made for the application
			continue
		}
		whose := "toskose has not made it"
		if app != "" {
			whose = fmt.Sprintf("it is application %q's", app)
		}
		problems = append(problems, fmt.Errorf("namespace %q has a %s %q already, and %s: package it for another namespace, with --namespace or --name",
			c.info.Namespace, strings.ToLower(o.Kind), o.Metadata.Name, whose))
	}
	return errors.Join(problems...)
}
