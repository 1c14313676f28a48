package project

import (
	"context"
	"errors"
	"io/fs"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// Secrets returns the secrets that containers mount. If a common copy exists, it is compared with the folder; otherwise the
// secrets come from the folder, or the release in it, that Compose deployed last.
func (p *Project) Secrets(context.Context) (backend.Suffixes, error) {
	if at, ok := p.mounted(); ok {
		differ, there, err := at.Differing(p.Dir)
		if err != nil || there {
			all := backend.Suffixes{}
			for _, name := range differ {
				all.Add(name, "") // matches no suffix
			}
			return all, err
		}
	}
	now, ok := p.Log.Current()
	if !ok {
		return nil, nil
	}
	dir, err := release.Find(now)
	if err != nil { // the deployed secrets are unknown
		p.Say("%s: its secrets cannot be compared with the running ones: %v", p.Info.App, err)
		return nil, nil
	}
	all := backend.Suffixes{}
	of, err := output.Suffixes(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for name, suffix := range of {
		all[name] = []string{suffix}
	}
	return all, err
}
