package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/release"
)

// folderLabel is of a container: where Compose has started it from.
const folderLabel = "com.docker.compose.project.working_dir"

// releases reads the logs that are in the folders that containers were started from: an
// engine has none for an application, and a label of a container would replace it.
func (p *project) releases(ctx context.Context) (map[string]release.Log, error) {
	containers, err := p.d.containers(ctx, p.label)
	if err != nil || len(containers) == 0 {
		return nil, err
	}
	logs := []release.Log{release.ReadLog(p.d.opts.Dir, p.d.engineID)}
	for _, c := range containers {
		logs = append(logs, release.ReadLog(c.Labels[folderLabel], p.d.engineID))
	}
	return map[string]release.Log{"": release.Newest(logs...)}, nil
}

// note writes the log into the folders that it names: any may be that of a container that
// was not replaced. If it cannot be written into the folder's own, it stays in all as it was.
func (p *project) note(log release.Log) error {
	if p.d.opts.Dir == "" { // it was found without
		return nil
	}
	if err := release.WriteLog(p.d.opts.Dir, p.d.engineID, log); err != nil {
		return fmt.Errorf("cannot note what is deployed: %w", err)
	}
	folders := map[string]bool{}
	for _, r := range append(release.ReadLog(p.d.opts.Dir, p.d.engineID), log...) {
		folders[r.Folder] = r.Folder != p.d.opts.Dir
	}
	var failed []error
	for dir, other := range folders {
		if _, err := compose.ReadInfo(dir); err == nil && other {
			failed = append(failed, release.WriteLog(dir, p.d.engineID, log))
		}
	}
	return errors.Join(failed...)
}

// releases reads the labels of the stack's services. They are the services', not their
// containers': an update that a swarm takes back takes them back, too.
func (s *stack) releases(ctx context.Context) (map[string]release.Log, error) {
	services, _, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	logs, names := map[string]release.Log{}, s.names(services)
	for _, service := range services {
		logs[names[service.ID]] = release.Decode(service.Spec.Labels[release.Label])
	}
	return logs, nil
}

// labelled writes a Compose file beside the stack's that gives all services the log as a
// label. It is to be removed.
func (s *stack) labelled(log release.Log) (file string, err error) {
	names, err := compose.Services(s.d.opts.Dir)
	if err != nil {
		return "", err
	}
	type labels struct {
		Labels map[string]string `json:"labels"`
	}
	services := map[string]map[string]labels{}
	for _, name := range names {
		services[name] = map[string]labels{"deploy": {map[string]string{release.Label: strings.ReplaceAll(log.Encode(), "$", "$$")}}}
	}
	data, err := json.Marshal(map[string]any{"version": "3.7", "services": services}) // JSON is YAML
	if err != nil {
		return "", err
	}
	file = filepath.Join(s.d.opts.Dir, release.KeptDir, "labels.yml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return "", fmt.Errorf("cannot write what is deployed: %w", err)
	}
	return file, nil
}

// releases reads the annotations of the workloads.
func (c *cluster) releases(ctx context.Context) (map[string]release.Log, error) {
	all, err := c.in.Objects(ctx, "get", workloadKinds, "--selector", c.info.Selector)
	if err != nil {
		return nil, err
	}
	logs := map[string]release.Log{}
	for _, o := range all {
		logs[o.Workload()] = release.Decode(o.Metadata.Annotations[release.Label])
	}
	return logs, nil
}

// annotate gives all workloads the log. Their pods do not get it, which that would replace.
func (c *cluster) annotate(ctx context.Context, log release.Log) error {
	return c.in.Run(ctx, nil, nil, "annotate", workloadKinds, "--selector", c.info.Selector, "--overwrite", release.Label+"="+log.Encode())
}
