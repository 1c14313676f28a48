package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/release"
)

// Releases reads the labels of the stack's services. They are labels of the services rather than of containers, so the swarm
// restores them when it rolls back an update.
func (s *Stack) Releases(ctx context.Context) (map[string]release.Log, error) {
	services, _, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	logs, names := map[string]release.Log{}, s.names(services)
	for _, service := range services {
		logs[names[service.ID]] = release.Decode(service.Spec.Labels[release.Label])
	}
	return logs, nil
}

// Record sets the release label of the stack's services. Changing a service label replaces no container.
func (s *Stack) Record(ctx context.Context, log release.Log) error {
	services, _, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, service := range services {
		err := updating(func() error { return s.relabel(ctx, service.ID, release.Label, log.Encode()) })
		if err != nil {
			return fmt.Errorf("cannot record the release of service %q: %w", service.Spec.Name, err)
		}
	}
	return nil
}

// relabel sets a label of a service.
func (s *Stack) relabel(ctx context.Context, id, label, value string) error {
	service, _, err := s.Docker.ServiceInspectWithRaw(ctx, id, swarm.ServiceInspectOptions{})
	if err != nil || service.Spec.Labels[label] == value {
		return err
	}
	if service.Spec.Labels == nil {
		service.Spec.Labels = map[string]string{}
	}
	service.Spec.Labels[label] = value
	_, err = s.Docker.ServiceUpdate(ctx, service.ID, service.Version, service.Spec, swarm.ServiceUpdateOptions{})
	return err
}

// writeLabels writes a Compose file that adds the log to all services as a label. The caller must remove the file.
func (s *Stack) writeLabels(log release.Log) (file string, err error) {
	names, err := compose.Services(s.Dir)
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
	file = filepath.Join(s.Dir, release.KeptDir, "labels.yml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return "", fmt.Errorf("cannot write the log of releases: %w", err)
	}
	return file, nil
}
