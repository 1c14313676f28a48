package packager

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
)

// node plans a container: its service and, if it is toskosed, its image.
func (p *planner) node(n *spec.Node, aliases []string) {
	s := Service{
		Name: n.Name, Image: n.Image.Name, Aliases: aliases, Env: map[string]string{},
		Deploy: p.plan.Config.Nodes[n.Name].Deploy, Compose: p.plan.Config.Nodes[n.Name].Compose, Patch: p.plan.Config.Nodes[n.Name].Kubernetes.Patch,
	}
	maps.Copy(s.Env, n.Env)
	secrets := p.secretVariables(&s)
	for _, port := range n.Ports {
		p := Port{Container: port.Container, Host: port.Host, Protocol: port.Protocol, Bind: port.Address}
		if port.Host != 0 {
			s.Ports = append(s.Ports, p)
		} else {
			s.Internal = append(s.Internal, p)
		}
	}
	for _, share := range n.Shares {
		s.Binds = append(s.Binds, Bind{Host: share.Host, Container: share.Container, ReadOnly: share.ReadOnly, Relabel: share.Relabel})
	}
	for _, storage := range n.Storage {
		s.Mounts = append(s.Mounts, Mount{Volume: storage.Volume, Container: storage.Location})
	}
	if components := p.components(n.Name); len(components) > 0 {
		p.toskosed(&s, n, components, secrets)
	} else {
		for _, name := range slices.Sorted(maps.Keys(secrets)) {
			s.Env[name+"_FILE"] = secrets[name]
			p.warn("container %q: its variable %s is a secret: its image has to read it from the file that %s_FILE names", n.Name, name, name)
		}
		words, err := config.SplitWords(n.Command)
		if err != nil {
			p.report("container %q: command %q: %w", n.Name, n.Command, err)
		}
		s.Command = words
		p.alone(&s, n)
	}
	p.plan.Services = append(p.plan.Services, s)
}

// alone plans the image of a standalone container if it is built from the archive.
func (p *planner) alone(s *Service, n *spec.Node) {
	if !isBuilt(*n) {
		return
	}
	cfg := p.plan.Config.Nodes[n.Name].Docker
	s.Image = cfg.Image()
	p.plan.Images = append(p.plan.Images, Image{
		Name: s.Image, Node: n.Name, Base: s.Image, Dockerfile: n.Image.Name,
		Labels: p.labels(n.Name), RegistryPassword: cfg.RegistryPassword,
	})
}

// base returns the base image of a toskosed container, and the Dockerfile in the archive that
// builds it. A base image in toskose.yml takes precedence.
func (p *planner) base(n *spec.Node) (ref, dockerfile string) {
	cfg := p.plan.Config.Nodes[n.Name].Docker
	if isBuilt(*n) && cfg.BaseImage == "" {
		if cfg.BaseTag != "" {
			p.report("container %q: nodes.%s.docker.base_tag needs a base_image: the base is built from %q in the archive", n.Name, n.Name, n.Image.Name)
		}
		return config.BaseName(p.plan.App, n.Name), n.Image.Name
	}
	ref, err := cfg.Base(n.Image.Name)
	if err != nil {
		p.report("container %q: %w", n.Name, err)
	}
	return ref, ""
}

// toskosed adds the unit's settings to a service and plans its image.
func (p *planner) toskosed(s *Service, n *spec.Node, components []spec.Component, secrets map[string]string) {
	cfg := p.plan.Config.Nodes[n.Name]
	for name := range n.Env {
		if strings.HasPrefix(name, "SUPERVISORD_") || strings.HasPrefix(name, "TOSKOSE_") {
			p.report("container %q: environment variable %q: the name is reserved for the unit", n.Name, name)
		}
		if strings.HasPrefix(name, "INPUT_") {
			p.warn("container %q: environment variable %q: no operation sees it: the variables INPUT_… of an operation are its own inputs", n.Name, name)
		}
	}
	if n.Command != "" {
		p.warn("container %q: its command is not run: its main process is the unit, because it hosts components", n.Name)
	}
	if n.Image.Kind == spec.ImageService || n.Image.Kind == spec.ImageFileService {
		p.warn("container %q: the command of image %q is not run: the main process is the unit, because the container hosts components", n.Name, n.Image.Name)
	}
	p.checkMounts(*s)
	base, dockerfile := p.base(n)
	unitEnv := unitEnv(cfg)
	maps.Copy(s.Env, unitEnv)
	s.Image, s.IsToskosed, s.UnitPort = cfg.Docker.Image(), true, cfg.Port
	s.UnitPasswd, s.StopGrace = UnitPassword(n.Name), stopGrace(cfg.Components)
	s.Secrets = append(s.Secrets, s.UnitPasswd)
	if job := p.jobOf(n.Name); job != nil {
		s.asJob(job)
	}
	p.secretFiles(s, components)
	p.secure(s, n.Name, cfg.Alias)
	s.Env["SUPERVISORD_PASSWORD_FILE"] = path.Join(SecretsPath, s.UnitPasswd)
	s.Health, s.Pulse, s.Ready = []string{UnitPath, "health"}, []string{UnitPath, "pulse"}, []string{UnitPath, "ready"}
	p.plan.Secrets = append(p.plan.Secrets, Secret{Name: s.UnitPasswd, Given: cfg.Password})
	p.plan.Images = append(p.plan.Images, Image{
		Name: s.Image, Node: n.Name, Base: base, Dockerfile: dockerfile, Unit: true, Env: unitEnv,
		Labels: p.labels(n.Name), Files: p.nodeFiles(n.Name, components, secrets),
		Scripts: scripts(components), Path: n.Env["PATH"],
		Entry: []string{UnitPath}, Health: s.Health, RegistryPassword: cfg.Docker.RegistryPassword,
	})
}

// checkMounts rejects mounts over the unit's documents.
func (p *planner) checkMounts(s Service) {
	var at []string
	for _, m := range s.Mounts {
		at = append(at, m.Container)
	}
	for _, b := range s.Binds {
		at = append(at, b.Container)
	}
	for _, location := range at {
		if path.Clean(location) == DocumentsPath {
			p.report("container %q: nothing can be mounted at %s, where the unit has its own volume", s.Name, location)
		}
	}
}

// scripts returns the scripts of the components' operations.
func scripts(components []spec.Component) []string {
	var all []string
	for _, c := range components {
		for _, o := range c.Operations() {
			if o.Script != "" {
				all = append(all, o.Script)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func unitEnv(cfg config.Node) map[string]string {
	return map[string]string{
		"SUPERVISORD_ALIAS":     cfg.Alias,
		"SUPERVISORD_PORT":      strconv.Itoa(cfg.Port),
		"SUPERVISORD_USER":      cfg.User,
		"SUPERVISORD_LOG_LEVEL": cfg.LogLevel,
	}
}

func (p *planner) labels(node string) map[string]string {
	labels := map[string]string{LabelApp: p.plan.App, LabelVersion: p.plan.Version}
	if node != "" {
		labels[LabelNode] = node
	}
	return labels
}

func (p *planner) nodeFiles(node string, components []spec.Component, secrets map[string]string) []File {
	t := newTree(p.archive)
	t.folder(AppsPath)
	t.folder(DocumentsPath)
	t.folder(path.Join(StatePath, "journal"))
	ok := true
	for _, c := range components {
		p.checkInputs(c)
		t.folder(path.Join(StatePath, "logs", c.Name))
		if err := t.component(c); err != nil {
			p.problems = append(p.problems, err)
			ok = false
		}
		p.inputArtifacts(t, c)
	}
	if ok { // or a missing script would be reported twice
		conf, err := p.unitConf(node, components)
		if err != nil {
			p.report("container %q: %w", node, err)
		}
		document, err := p.containerDocument(node, components, t.sorted(), secrets)
		if err != nil {
			p.report("container %q: %w", node, err)
		}
		t.data(UnitConfPath, conf)
		t.data(ContainerPath, document)
		p.plan.Digests[node] = fmt.Sprintf("%x", sha256.Sum256(slices.Concat(conf, document)))
	}
	return t.sorted()
}

// inputArtifacts adds the artifacts that a component's inputs refer to, of any component.
func (p *planner) inputArtifacts(t *tree, c spec.Component) {
	for name, o := range c.Operations() {
		for _, in := range o.Inputs {
			in.Resolve(func(owner, artifact string) string {
				if err := t.file(appPath(p.artifactFolder(c, owner), ""), artifact); err != nil {
					p.report("component %q: operation %q: input %q: artifact %q: %w", c.Name, name, in.Name, artifact, err)
				}
				return ""
			})
		}
	}
}
