package project

import (
	"context"
	"errors"
	"fmt"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/release"
)

// Releases reads the logs that are in the folders that containers were started from: an
// engine has none for an application, and a label of a container would replace it.
func (p *Project) Releases(ctx context.Context) (map[string]release.Log, error) {
	containers, err := p.Containers(ctx, p.label)
	if err != nil || len(containers) == 0 {
		return nil, err
	}
	logs := []release.Log{release.ReadLog(p.Dir, p.System.ID)}
	for _, c := range containers {
		logs = append(logs, release.ReadLog(c.Labels[compose.LabelFolder], p.System.ID))
	}
	return map[string]release.Log{"": release.Newest(logs...)}, nil
}

// Record notes the log.
func (p *Project) Record(_ context.Context, log release.Log) error { return p.Note(log) }

// Note writes the log into the folders that it names: any may be that of a container that
// was not replaced. If it cannot be written into the folder's own, it stays in all as it was.
func (p *Project) Note(log release.Log) error {
	if p.Dir == "" { // it was found without
		return nil
	}
	if err := release.WriteLog(p.Dir, p.System.ID, log); err != nil {
		return fmt.Errorf("cannot note what is deployed: %w", err)
	}
	folders := map[string]bool{}
	for _, r := range append(release.ReadLog(p.Dir, p.System.ID), log...) {
		folders[r.Folder] = r.Folder != p.Dir
	}
	var failed []error
	for dir, other := range folders {
		if _, err := compose.ReadInfo(dir); err == nil && other {
			failed = append(failed, release.WriteLog(dir, p.System.ID, log))
		}
	}
	return errors.Join(failed...)
}
