package project

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager/mounted"
)

// mounted returns what the application's containers mount; false: nobody said where that is
// to be, and it is the folder's own.
func (p *Project) mounted() (mounted.Secrets, bool) {
	return mounted.Of(p.root, p.System.ID, p.Info.App), p.root != ""
}

// mounts brings the folder's secrets to where all of the application's containers mount
// them, and returns what names that place to Compose. Where it is of no use it is left alone:
// an engine on another machine, or toskose in a container, of which it sees the folder only;
// and what an earlier version has packaged, whose second file names no secrets.
func (p *Project) mounts(ctx context.Context) ([]string, error) {
	secrets, ok := p.mounted()
	if !ok || p.Info.Manager.Bind == "" || !p.sees(ctx, secrets) {
		return nil, nil
	}
	own := os.Geteuid() == 0 && !p.mapsUsers()
	file, err := secrets.Take(p.Dir, own)
	if err != nil {
		return nil, err
	}
	if !own {
		p.Say("%s: every user in a container can read its secrets: only root, on an engine without user namespaces, can give them to one user", p.Info.App)
	}
	return []string{"-f", file}, nil
}

// mapsUsers reports whether users of containers have other numbers on the machine.
func (p *Project) mapsUsers() bool {
	return slices.ContainsFunc(p.System.SecurityOptions, func(option string) bool {
		return strings.HasPrefix(option, "name=userns") || strings.HasPrefix(option, "name=rootless")
	})
}

// sees reports whether the engine has the same files at a place as this process.
func (p *Project) sees(ctx context.Context, secrets mounted.Secrets) bool {
	return secrets.Seen(func(path string) bool {
		seen, err := p.Sees(ctx, path)
		return seen && err == nil
	})
}

// Settle removes what no container mounts any more.
func (p *Project) Settle(context.Context) error {
	if secrets, ok := p.mounted(); ok {
		return secrets.Tidy(p.Dir)
	}
	return nil
}

// Publish has containers see what the folder's secrets are by now.
func (p *Project) Publish(context.Context) error {
	if secrets, ok := p.mounted(); ok {
		return secrets.Follow(p.Dir)
	}
	return nil
}
