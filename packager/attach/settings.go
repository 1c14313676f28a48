package attach

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/spec"
)

// settings are the user's settings: requirements by NODE/PROGRAM, and the goal.
type settings struct {
	file     string
	requires map[string][]string
	goal     string
}

// readSettings reads a toskose.yml. Without a name, it reads the one in folder, which need not
// exist.
func readSettings(name, folder string) (settings, error) {
	optional := name == ""
	if optional {
		name = filepath.Join(folder, ConfigFile)
	}
	data, err := readLimited(name)
	if optional && errors.Is(err, os.ErrNotExist) {
		return settings{}, nil
	}
	if err != nil {
		return settings{}, err
	}
	return parseSettings(name, data)
}

// parseSettings accepts only the keys that make sense for attached containers.
func parseSettings(name string, data []byte) (settings, error) {
	c := settings{file: name}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	if len(doc.Content) == 0 {
		return c, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return c, fmt.Errorf("%s:%d:%d: it is not a mapping", name, top.Line, top.Column)
	}
	var problems []error
	report := func(n *yaml.Node, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s:%d:%d: %s", name, n.Line, n.Column, fmt.Sprintf(format, args...)))
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		switch key.Value {
		case "requires":
			if err := value.Decode(&c.requires); err != nil {
				report(value, "requires: it is not a mapping from NODE/PROGRAM to a list, as in `web/app: [db]`")
			}
		case "goal":
			if c.goal = value.Value; c.goal != spec.GoalUp {
				report(value, "goal: %q is not %q", c.goal, spec.GoalUp)
			}
		default:
			report(key, "%s: attached containers have no such setting, only requires and goal; name another file with --config", key.Value)
		}
	}
	return c, errors.Join(problems...)
}

// programs returns the requirements of a node's programs.
func (c settings) programs(node string) map[string][]string {
	programs := map[string][]string{}
	for name, targets := range c.requires {
		if of, program, ok := strings.Cut(name, "/"); ok && of == node {
			programs[program] = targets
		}
	}
	return programs
}

// encode returns the document of an application, after checks of the requirements in it.
func (c settings) encode(app *spec.Application) ([]byte, error) {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(c.requires)) {
		node, program, ok := strings.Cut(name, "/")
		switch {
		case !ok || program == "":
			problems = append(problems, fmt.Errorf("%s: requires: %q is not NODE/PROGRAM, as in web/app", c.file, name))
		case !slices.ContainsFunc(app.Nodes, func(n spec.Node) bool { return n.Name == node && n.Attached != nil }):
			problems = append(problems, fmt.Errorf("%s: requires: %q names service %q, which is not attached", c.file, name, node))
		}
	}
	if err := app.Validate(); err != nil {
		if c.file != "" {
			err = fmt.Errorf("%s: %w", c.file, err)
		}
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return spec.Encode(app)
}
