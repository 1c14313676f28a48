package project

import (
	"context"
	"errors"
	"fmt"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/release"
)

// Releases reads the logs in the folders from which the containers were started. An engine cannot store a log for an
// application, and changing a container's label would replace the container.
func (p *Project) Releases(ctx context.Context) (map[string]release.Log, error) {
	containers, err := p.Containers(ctx, p.label)
	if err != nil || len(containers) == 0 {
		return nil, err
	}
	logs := []release.Log{release.ReadLog(p.Dir, p.ID)}
	for _, c := range containers {
		logs = append(logs, release.ReadLog(c.Labels[compose.LabelFolder], p.ID))
	}
	return map[string]release.Log{"": release.Newest(logs...)}, nil
}

// Record writes the log.
func (p *Project) Record(_ context.Context, log release.Log) error { return p.writeLog(log) }

// writeLog writes the log into every folder that the old or new log names: a container that was not replaced may have been started
// from any of them. If the deployed folder cannot be written, the other folders are not changed.
func (p *Project) writeLog(log release.Log) error {
	if p.Dir == "" { // the application was opened without its folder
		return nil
	}
	if err := release.WriteLog(p.Dir, p.ID, log); err != nil {
		return fmt.Errorf("cannot write the log of releases: %w", err)
	}
	folders := map[string]bool{}
	for _, r := range append(release.ReadLog(p.Dir, p.ID), log...) {
		folders[r.Folder] = r.Folder != p.Dir
	}
	var failed []error
	for dir, other := range folders {
		if _, err := compose.ReadInfo(dir); err == nil && other {
			failed = append(failed, release.WriteLog(dir, p.ID, log))
		}
	}
	return errors.Join(failed...)
}
