package project

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager/compose"
)

// mounted returns the secrets that the application's containers mount, or false if no common folder is configured and each
// application mounts its own folder.
func (p *Project) mounted() (compose.MountedSecrets, bool) {
	return compose.MountedSecretsOf(p.root, p.ID, p.Info.App), p.root != ""
}

// mounts copies the folder's secrets to the place from which the application's containers mount them, and returns the Compose
// files that name that place. It does nothing if the engine does not see this process's files (it is remote, or toskose runs
// in a container and shares only the folder), or if the folder was packaged by an earlier version whose second file names no
// secrets.
func (p *Project) mounts(ctx context.Context) ([]string, error) {
	secrets, ok := p.mounted()
	if !ok || p.Info.Manager.Bind == "" || !p.sees(ctx, secrets) {
		return nil, nil
	}
	own := os.Geteuid() == 0 && !p.mapsUsers()
	file, err := secrets.Update(p.Dir, own)
	if err != nil {
		return nil, err
	}
	if !own {
		p.Say("%s: every user in a container can read its secrets: only root, on an engine without user namespaces, can give them to one user", p.Info.App)
	}
	return []string{"-f", file}, nil
}

// mapsUsers reports whether the engine maps the user IDs of containers to other IDs of the machine.
func (p *Project) mapsUsers() bool {
	return slices.ContainsFunc(p.System.SecurityOptions, func(option string) bool {
		return strings.HasPrefix(option, "name=userns") || strings.HasPrefix(option, "name=rootless")
	})
}

// sees reports whether the engine and this process see the same files at the secrets' path.
func (p *Project) sees(ctx context.Context, secrets compose.MountedSecrets) bool {
	return secrets.VisibleTo(func(path string) bool {
		seen, err := p.Sees(ctx, path)
		return seen && err == nil
	})
}

// CleanUp removes secrets that no container mounts any more.
func (p *Project) CleanUp(context.Context) error {
	if secrets, ok := p.mounted(); ok {
		return secrets.RemoveUnused(p.Dir)
	}
	return nil
}

// PublishSecrets makes the folder's current secrets visible to the containers.
func (p *Project) PublishSecrets(context.Context) error {
	if secrets, ok := p.mounted(); ok {
		return secrets.Follow(p.Dir)
	}
	return nil
}
