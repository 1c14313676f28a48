package deploy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/endpoint"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// CheckSecretsOf refuses a folder whose secrets an application cannot take over.
func CheckSecretsOf(dir, app string) error {
	info, _, err := endpoint.ReadInfo(dir)
	switch {
	case err != nil:
		return err
	case info.App != app:
		return fmt.Errorf("%q has the secrets of application %q, and this is %q", dir, info.App, app)
	case len(info.External) > 0:
		return fmt.Errorf("%q has no secrets: somebody else has made them (--secrets external)", dir)
	}
	if _, err := os.Stat(filepath.Join(dir, output.SecretsDir, packager.SecretNamesFile)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q has no secrets any more: there is no %s", dir, filepath.Join(output.SecretsDir, packager.SecretNamesFile))
	}
	return nil
}

// suffixes are the ends of the names that an application's secrets have where it runs: a
// secret may have several.
type suffixes map[string][]string

// own are the secrets that manager and units share. Others are what toskose.yml and the
// topology's inputs say, and the manager's users change while it runs.
func own(info output.Info) []string {
	all := []string{packager.ManagerPassword, packager.ManagerSecretKey, packager.TLSAuthority}
	for _, node := range info.Nodes {
		all = append(all, packager.UnitPassword(node))
	}
	return all
}

// checkSecrets refuses secrets that differ from those of the application that runs.
func (d *deployer) checkSecrets(ctx context.Context) error {
	if d.opts.NewSecrets || len(d.info.External) > 0 {
		return nil
	}
	ours, err := output.Suffixes(d.opts.Dir)
	if errors.Is(err, fs.ErrNotExist) { // somebody has made them by hand
		return nil
	}
	if err != nil {
		return err
	}
	running, err := d.where.secrets(ctx)
	if err != nil {
		return err
	}
	var differ []string
	for _, name := range own(d.info) {
		if theirs := running[name]; ours[name] != "" && len(theirs) > 0 && !slices.Contains(theirs, ours[name]) {
			differ = append(differ, name)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	from := "the folder it was deployed from"
	if now, ok := d.log.Current(); ok {
		from = now.Folder
	}
	return fmt.Errorf("its secrets are not those of the application that runs (%s): package it with --from %s, which takes them over; "+
		"or deploy it with --new-secrets, which ends tokens and passwords that people have, and replaces all containers of a Swarm", strings.Join(differ, ", "), from)
}

// secrets are those that containers mount, where there is a copy of them, whichever folder they
// are from; else those of the folder, or of the copy in it, that Compose has deployed last.
func (p *project) secrets(context.Context) (suffixes, error) {
	if at, ok := p.mounted(); ok {
		differ, there, err := at.Differing(p.d.opts.Dir)
		if err != nil || there {
			all := suffixes{}
			for _, name := range differ {
				all.add(name, "") // of no secret
			}
			return all, err
		}
	}
	now, ok := p.d.log.Current()
	if !ok {
		return nil, nil
	}
	dir, err := release.Find(now)
	if err != nil { // then nobody can tell
		p.d.say("%s: its secrets are not compared with those that run: %v", p.d.info.App, err)
		return nil, nil
	}
	all := suffixes{}
	of, err := output.Suffixes(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for name, suffix := range of {
		all[name] = []string{suffix}
	}
	return all, err
}

// secrets are those that services mount.
func (s *stack) secrets(ctx context.Context) (suffixes, error) {
	services, err := s.d.engine.ServiceList(ctx, swarm.ServiceListOptions{Filters: s.mine()})
	if err != nil {
		return nil, fmt.Errorf("cannot list services: %w", err)
	}
	all := suffixes{}
	for _, service := range services {
		if service.Spec.TaskTemplate.ContainerSpec == nil {
			continue
		}
		for _, mounted := range service.Spec.TaskTemplate.ContainerSpec.Secrets {
			if mounted.File == nil {
				continue
			}
			all.add(path.Base(mounted.File.Name), suffixOf(mounted.SecretName))
		}
	}
	return all, nil
}

// secrets are those of the namespace, by their annotation: their values stay there.
func (c *cluster) secrets(ctx context.Context) (suffixes, error) {
	column := `{range .items[*]}{.metadata.annotations.` + strings.ReplaceAll(kubernetes.SecretAnnotation, ".", `\.`) + `}{"\n"}{end}`
	out, err := c.in.Output(ctx, "get", secretKinds, "--selector", c.info.Selector, "--output", "jsonpath="+column)
	if err != nil {
		return nil, err
	}
	all := suffixes{}
	for _, line := range strings.Fields(string(out)) {
		if name, suffix, ok := strings.Cut(line, "="); ok {
			all.add(name, suffix)
		}
	}
	return all, nil
}

func (s suffixes) add(name, suffix string) {
	if !slices.Contains(s[name], suffix) {
		s[name] = append(s[name], suffix)
	}
}
