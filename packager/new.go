package packager

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/tosca"
)

// Options are the inputs of a plan besides the application and its configuration.
type Options struct {
	Version   string                            // of Toskose
	Places    tosca.Places                      // positions in the archive for messages; nil: not known
	AllowHost []string                          // paths of the host that the application may use, including paths below them
	TLS       bool                              // manager and units use TLS, with certificates of the application's own authority
	Now       time.Time                         // certificates are warned of that are not valid then
	Read      func(name string) ([]byte, error) // reads a file that toskose.yml names; nil: there are none
}

// TargetOf returns the nodes and components that a toskose.yml for the application may name.
func TargetOf(app *spec.Application) config.Target {
	name, _ := projectName(app.Name)
	target := config.Target{App: name}
	for _, n := range app.Nodes {
		target.Nodes = append(target.Nodes, config.TargetNode{Name: n.Name, Toskosed: hosts(app, n.Name), Built: isBuilt(n), Ports: n.Ports, Env: slices.Sorted(maps.Keys(n.Env))})
	}
	for _, v := range app.Volumes {
		target.Volumes = append(target.Volumes, v.Name)
	}
	target.Components = components(app)
	target.Values = values(app)
	return target
}

// isBuilt reports whether a container's image is built from the archive.
func isBuilt(n spec.Node) bool {
	return n.Image.Kind == spec.ImageFile || n.Image.Kind == spec.ImageFileService
}

func hosts(app *spec.Application, node string) bool {
	return slices.ContainsFunc(app.Components, func(c spec.Component) bool { return c.Node == node })
}

// New returns the plan of an application. archive contains the application's files; cfg is the
// result of config.File.Check for TargetOf(app), or empty. The error joins all problems.
func New(app *spec.Application, archive fs.FS, cfg config.Config, opts Options) (*Plan, error) {
	name, err := projectName(app.Name)
	if err != nil {
		return nil, err
	}
	p := &planner{
		app: Configured(app, cfg), archive: archive, opts: opts,
		plan: &Plan{App: name, Version: opts.Version, Config: config.Complete(cfg, TargetOf(app)), Digests: map[string]string{}},
	}
	p.checkNames()
	p.checkPorts()
	p.checkJobs()
	if p.problems != nil { // a bad name would be reported again wherever it is used
		return nil, errors.Join(p.problems...)
	}
	aliases := p.aliases()
	for i := range p.app.Nodes {
		p.node(&p.app.Nodes[i], aliases[p.app.Nodes[i].Name])
	}
	p.manager()
	for _, v := range app.Volumes {
		p.plan.Volumes = append(p.plan.Volumes, volume(v, p.plan.Config.Volumes[v.Name]))
	}
	p.checkVolumes()
	p.hostPaths(app.Volumes)
	dependsOn(app, p.plan.Services)
	p.checkSecrets()
	p.checkLeaks()
	slices.SortFunc(p.plan.Secrets, func(a, b Secret) int { return cmp.Compare(a.Name, b.Name) })
	if p.problems == nil { // or a file that is missing would be reported twice
		p.describe()
	}
	if p.problems != nil {
		return nil, errors.Join(p.problems...)
	}
	return p.plan, nil
}

// planner collects a plan and its problems.
type planner struct {
	app      *spec.Application
	archive  fs.FS
	opts     Options
	plan     *Plan
	problems []error
}

func (p *planner) report(format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf(format, args...))
}

func (p *planner) warn(format string, args ...any) {
	p.plan.Warnings = append(p.plan.Warnings, fmt.Sprintf(format, args...))
}

// components returns a node's components.
func (p *planner) components(node string) []spec.Component {
	var cs []spec.Component
	for _, c := range p.app.Components {
		if c.Node == node {
			cs = append(cs, c)
		}
	}
	return cs
}

// Application names in the names of volumes, networks and services end at the first underscore, so
// they must not contain one: otherwise `shop_web` with a volume `data` and `shop` with a volume
// `web_data` would get the same volume name.
var notInProjectNames = regexp.MustCompile(`[^a-z0-9]+`)

// maxProjectName is the maximum length of a project name: a Swarm service's name has at most 63
// characters and starts with it.
const maxProjectName = 40

// projectName converts a name to one that is valid for Compose projects, Swarm stacks and namespaces.
// It shortens a long name.
func projectName(app string) (string, error) {
	name := strings.Trim(notInProjectNames.ReplaceAllString(strings.ToLower(app), "-"), "-")
	if name == "" {
		return "", fmt.Errorf("the application's name %q has no letter or digit", app)
	}
	if len(name) > maxProjectName {
		name = Shorten(name, app, maxProjectName)
	}
	return name, nil
}

// Shorten truncates a name to a length and appends a digest of the value it identifies.
func Shorten(name, of string, length int) string {
	sum := sha256.Sum256([]byte(of))
	digest := "-" + hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:min(len(name), length-len(digest))], "-_") + digest
}

// volume plans a volume. The settings in toskose.yml take precedence.
func volume(v spec.Volume, cfg config.Volume) Volume {
	out := Volume{Name: v.Name}
	if cfg.External {
		out.Existing = cmp.Or(cfg.Name, v.Name)
		return out
	}
	for _, key := range slices.Sorted(maps.Keys(v.Options)) {
		if key == "driver" {
			out.Driver = v.Options[key]
			continue
		}
		if out.Options == nil {
			out.Options = map[string]string{}
		}
		out.Options[key] = v.Options[key]
	}
	if cfg.Driver != "" {
		out.Driver = cfg.Driver
	}
	if len(cfg.DriverOpts) > 0 && out.Options == nil {
		out.Options = map[string]string{}
	}
	maps.Copy(out.Options, cfg.DriverOpts)
	return out
}
