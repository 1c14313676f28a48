package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
)

// Check returns an error if the folder cannot be deployed with Compose, or if a resource of the project belongs to another
// application.
func (p *Project) Check(ctx context.Context) error {
	if err := p.checkFolder(); err != nil {
		return err
	}
	return errors.Join(p.CheckExternalVolumes(ctx), p.Conflicts(ctx, false))
}

// checkFolder returns an error for a folder that was packaged only for a swarm, or whose manager would be unreachable.
func (p *Project) checkFolder() error {
	if len(p.Info.External) > 0 {
		return errors.New("its secrets are a swarm's (--secrets external), and the engine is not in a swarm: " +
			"`docker swarm init` makes one, or package it with --secrets generated")
	}
	if _, err := os.Stat(p.File(compose.LocalFile)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("it is packaged for a swarm, without %s, and the engine is not in one: package it with --target compose", compose.LocalFile)
	}
	if bind := p.Info.Manager.Bind; config.IsLoopback(bind) && !thisMachine(p.Machine()) {
		return fmt.Errorf("its manager would be published at %s of the engine's machine, %s, where it is not reached from here: "+
			"name another address of that machine by manager.bind in toskose.yml, and package it again with --tls", bind, p.Machine())
	}
	return p.checkReplicas()
}

// checkReplicas returns an error if several replicas would publish the same port of the engine.
func (p *Project) checkReplicas() error {
	published, err := compose.ReadPublished(p.Dir, compose.LocalFile)
	if err != nil {
		return err
	}
	for _, port := range published {
		if port.Replicas > 1 {
			return errors.New(compose.SharedPort(port.Service, port.Replicas, port.Port))
		}
	}
	return nil
}

// thisMachine reports whether a host is this machine.
func thisMachine(host string) bool {
	return host == config.LocalName || config.IsLoopback(host)
}
