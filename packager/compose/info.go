package compose

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

func infoOf(plan *packager.Plan, opts Options, external bool) *output.Info {
	info := output.InfoOf(plan, ServiceNames(plan)[plan.Manager().Name])
	info.Manager.Publish, info.Manager.Bind = opts.PublishMode, plan.Config.Manager.Bind
	info.Bound = boundPorts(plan)
	if external {
		info.External = slices.Sorted(maps.Values(SecretNames(plan)))
	}
	return &info
}

// Services returns the names of the services in an output folder's docker-compose.yml.
func Services(dir string) ([]string, error) {
	path := filepath.Join(dir, SwarmFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%q was not packaged by toskose: %w", dir, err)
	}
	var f struct {
		Services map[string]any `yaml:"services"`
	}
	if err := yaml.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", path, err)
	}
	return slices.Sorted(maps.Keys(f.Services)), nil
}

// ReadInfo reads the description of the application from `x-toskose` in docker-compose.yml.
func ReadInfo(dir string) (output.Info, error) {
	path := filepath.Join(dir, SwarmFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return output.Info{}, fmt.Errorf("%q was not packaged by toskose: %w", dir, err)
	}
	var f struct {
		Info output.Info `yaml:"x-toskose"`
	}
	if err := yaml.Unmarshal(data, &f); err != nil {
		return output.Info{}, fmt.Errorf("cannot read %q: %w", path, err)
	}
	if f.Info.App == "" || f.Info.Manager.Port == 0 {
		return output.Info{}, fmt.Errorf("%q was not written by toskose: it has no x-toskose", path)
	}
	return f.Info, nil
}
