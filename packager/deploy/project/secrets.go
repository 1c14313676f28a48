package project

import (
	"context"
	"errors"
	"io/fs"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// Secrets are those that containers mount, where there is a copy of them, whichever folder they
// are from; else those of the folder, or of the copy in it, that Compose has deployed last.
func (p *Project) Secrets(context.Context) (backend.Suffixes, error) {
	if at, ok := p.mounted(); ok {
		differ, there, err := at.Differing(p.Dir)
		if err != nil || there {
			all := backend.Suffixes{}
			for _, name := range differ {
				all.Add(name, "") // of no secret
			}
			return all, err
		}
	}
	now, ok := p.Log.Current()
	if !ok {
		return nil, nil
	}
	dir, err := release.Find(now)
	if err != nil { // then nobody can tell
		p.Say("%s: its secrets are not compared with those that run: %v", p.Info.App, err)
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
