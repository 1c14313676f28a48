package tosca

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/distribution/reference"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/check"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// container returns the model of a container.
func (c *compiler) container(n *node, policies *policies) spec.Node {
	m := spec.Node{Name: n.Name, Type: n.Type.Name}
	m.Image = c.image(n)
	m.Ports = c.ports(n)
	m.Endpoint = c.endpoint(n)
	m.Env = c.environment(n)
	m.Command = data.Text(n.Property("command").Node)
	m.Shares = c.shares(n)
	m.Storage = c.storage(n)
	m.Connections, m.Depends = n.providers()
	m.Named = n.namedRequirements()
	m.Protocol = policies.of(n)
	for name, i := range check.Interfaces(c.Graph, n.Node) {
		for op, o := range i.Operations {
			if o.At.Implementation.Name != "" {
				c.Warnf(o.At.Pos, code.ContainerOp, "%s: operation %q is never run: containers are the orchestrator's", n.Of(), protocol.Operation{Interface: name, Name: op})
			}
		}
	}
	return m
}

// volume returns the model of a volume. Its options are its properties; those in
// driver_opts are merged.
func (c *compiler) volume(n *node, policies *policies) spec.Volume {
	m := spec.Volume{Name: n.Name, Type: n.Type.Name, Protocol: policies.of(n)}
	set := func(name string, v *source.Node) {
		if m.Options == nil {
			m.Options = map[string]string{}
		}
		m.Options[name] = data.Text(v)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Typ.Props)) {
		switch v := n.Property(name).Node; {
		case v.IsNull():
		case name == "driver_opts":
			c.note(OptionsOf(n.Name), v.Pos())
			for k, item := range v.Pairs() {
				set(k.Text, item)
			}
		default:
			if name == "device" {
				c.note(OptionsOf(n.Name), v.Pos())
			}
			set(name, v)
		}
	}
	return m
}

// imageKinds are TosKer's artifact types for images.
var imageKinds = map[string]spec.ImageKind{
	"tosker.artifacts.Image":              spec.ImageBase,
	"tosker.artifacts.Image.Service":      spec.ImageService,
	"tosker.artifacts.Dockerfile":         spec.ImageFile,
	"tosker.artifacts.Dockerfile.Service": spec.ImageFileService,
}

func imageKind(chain []*grammar.Type) spec.ImageKind {
	for _, t := range chain {
		if k := imageKinds[t.Name]; k != "" {
			return k
		}
	}
	return ""
}

// image returns the image of a container, which must have exactly one. An image of the
// template wins over those of its type.
func (c *compiler) image(n *node) spec.Image {
	check.ArtifactTypes(c.Graph, n.Node)
	var images []resolve.Artifact
	for _, a := range c.Artifacts(n.Node) {
		if imageKind(a.Chain) != "" {
			images = append(images, a)
		}
	}
	if slices.ContainsFunc(images, func(a resolve.Artifact) bool { return a.Own }) {
		images = slices.DeleteFunc(images, func(a resolve.Artifact) bool { return !a.Own })
	}
	switch len(images) {
	case 1:
	case 0:
		if !c.unknownArtifact(n) {
			c.Errorf(n.Pos, code.ImageMissing, "%s has no artifact that is an image or a Dockerfile (tosker.artifacts.Image, Image.Service, Dockerfile or Dockerfile.Service)", n.Of())
		}
		return spec.Image{}
	default:
		c.Errorf(images[1].Pos, code.ImageMany, "%s has two images, artifacts %q and %q: it needs exactly one", n.Of(), images[0].Name, images[1].Name)
		return spec.Image{}
	}
	a := images[0]
	kind, of := imageKind(a.Chain), n.Of()+": artifact "+quote(a.Name)
	if !check.IsConstant(c.Graph, a.Artifact, of) {
		return spec.Image{Kind: kind}
	}
	if kind == spec.ImageFile || kind == spec.ImageFileService {
		name, _ := c.File(a.In, a.File, of)
		return spec.Image{Kind: kind, Name: name}
	}
	return spec.Image{Kind: kind, Name: c.imageName(a, of)}
}

// unknownArtifact reports whether an artifact has an unknown type. It may be the image.
func (c *compiler) unknownArtifact(n *node) bool {
	return slices.ContainsFunc(n.Artifacts, func(a *grammar.Artifact) bool {
		return a.Type.Name != "" && n.Doc.Scope().Lookup(grammar.ArtifactType, a.Type.Name) == nil
	})
}

// hubs are names of Docker Hub. Images there need no registry.
var hubs = []string{
	"docker.io", "index.docker.io", "registry.hub.docker.com", "hub.docker.com",
	"registry-1.docker.io", "registry.docker.io", "www.docker.com", "docker.com",
}

func (c *compiler) imageName(a resolve.Artifact, of string) string {
	name := strings.TrimSpace(a.File.Name)
	if a.Repository.Name != "" {
		repo := a.Doc.Scope().Repository(a.Repository.Name)
		if repo == nil {
			c.Unknown(a.Repository.Pos, code.ArtRepository, a.Repository.Name, a.Doc.Scope().RepositoryNames(),
				"%s is in unknown repository %q", of, a.Repository.Name)
			return ""
		}
		if registry := registryOf(repo.URL); registry != "" && !strings.HasPrefix(name, registry+"/") {
			name = registry + "/" + name
		}
	}
	if c.images[name] {
		return name
	}
	if _, err := reference.ParseNormalizedNamed(name); err != nil {
		c.Errorf(a.File.Pos, code.ImageName, "%s: %q is not the name of an image: %v", of, name, err)
		return ""
	}
	if c.images == nil {
		c.images = map[string]bool{}
	}
	c.images[name] = true
	return name
}

// registryOf returns the registry of a repository, to prefix image names.
func registryOf(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	host, rest, _ := strings.Cut(strings.Trim(url, "/"), "/")
	if slices.Contains(hubs, strings.ToLower(host)) {
		return ""
	}
	if rest == "v1" || rest == "v2" { // of the API, not of a name
		rest = ""
	}
	return path.Join(host, rest)
}

// ports reads `ports`: host ports by container port. A key may have a protocol, as in
// "53/udp", and a value may have an address, as in "127.0.0.1:53".
func (c *compiler) ports(n *node) []spec.Port {
	var all []spec.Port
	taken := map[spec.Port]bool{} // without those of the host
	of := n.Of() + ": ports"
	for k, v := range n.Property("ports").Node.Pairs() {
		number, proto, has := strings.Cut(k.Text, "/")
		if !has {
			proto = "tcp"
		}
		inside, okInside := port(number)
		if !okInside || inside == 0 || (proto != "tcp" && proto != "udp") {
			c.Errorf(k.Pos(), code.ContainerValue, "%s: %q is not a container port: a number from 1 to 65535, with /tcp or /udp behind it if any", of, k.Text)
			continue
		}
		address, outside, err := spec.ParseHostPort(data.Text(v))
		if !v.IsNull() && err != nil {
			c.Errorf(v.Pos(), code.ContainerValue, "%s: %s is not a host port: a number from 1 to 65535, with an address such as 127.0.0.1: or [::1]: before it if any, or 0 for none", of, data.Show(v))
			continue
		}
		made := spec.Port{Container: inside, Host: outside, Protocol: proto, Address: address}
		key := spec.Port{Container: inside, Protocol: proto}
		if taken[key] {
			c.Errorf(k.Pos(), code.ContainerValue, "%s: port %d/%s is there twice", of, inside, proto)
			continue
		}
		taken[key] = true
		all = append(all, made)
	}
	slices.SortFunc(all, func(a, b spec.Port) int {
		return cmp.Or(cmp.Compare(a.Container, b.Container), cmp.Compare(a.Protocol, b.Protocol))
	})
	return all
}

func port(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err == nil
}

// checkPorts warns if two containers publish the same host port. They can run on
// different hosts only.
func (c *compiler) checkPorts(nodes []spec.Node) {
	for i, n := range nodes {
		for j, p := range n.Ports {
			if other := publisher(nodes[:i], n, j); other != "" {
				c.Warnf(c.at(n.Name), code.PortTwice, "container %q publishes port %s/%s of the host, and so does container %q", n.Name, p.Published(), p.Protocol, other)
			}
		}
	}
}

// publisher returns the last container before a port that publishes the same port of the host, or "".
func publisher(before []spec.Node, n spec.Node, port int) string {
	conflicts := n.Ports[port].Conflicts
	if slices.ContainsFunc(n.Ports[:port], conflicts) {
		return n.Name
	}
	for _, other := range slices.Backward(before) {
		if slices.ContainsFunc(other.Ports, conflicts) {
			return other.Name
		}
	}
	return ""
}

func (c *compiler) at(name string) diag.Position { return c.ByName[name].Pos }

func (c *compiler) environment(n *node) map[string]string {
	var env map[string]string
	for k, v := range n.Property("env_variable").Node.Pairs() {
		if k.Text == "" || strings.Contains(k.Text, "=") {
			c.Errorf(k.Pos(), code.ContainerValue, "%s: env_variable %q is not the name of a variable", n.Of(), k.Text)
			continue
		}
		if env == nil {
			env = map[string]string{}
		}
		env[k.Text] = data.Text(v)
	}
	return env
}

func (c *compiler) shares(n *node) []spec.Share {
	var all []spec.Share
	for k, v := range n.Property("share_data").Node.Pairs() {
		host := data.Text(v)
		if !path.IsAbs(k.Text) {
			c.Errorf(k.Pos(), code.ContainerValue, "%s: share_data: %q is not an absolute path in the container", n.Of(), k.Text)
			continue
		}
		if host == "" || !v.IsScalar() {
			c.Errorf(v.Pos(), code.ContainerValue, "%s: share_data: %s is not a path on the host", n.Of(), data.Show(v))
			continue
		}
		share, err := spec.ParseShare(host)
		if err != nil {
			c.Errorf(v.Pos(), code.ContainerValue, "%s: share_data: %v", n.Of(), err)
			continue
		}
		share.Container = path.Clean(k.Text)
		c.note(ShareOf(n.Name, share.Container), v.Pos())
		all = append(all, share)
	}
	slices.SortFunc(all, func(a, b spec.Share) int { return strings.Compare(a.Container, b.Container) })
	return all
}

// storage returns the attached volumes, which need different locations.
func (c *compiler) storage(n *node) []spec.Storage {
	var all []spec.Storage
	volumes := map[string]string{} // by location
	for _, e := range n.edges {
		if e.class != protocol.Storage || e.location == nil {
			continue
		}
		of := n.Of() + ": requirement " + quote(e.Name) + ": location"
		r := c.Values.Eval(e.location, n.Place(of))
		if r.OK && r.Later != nil {
			c.RunTimeOnly(r, of)
			continue
		}
		if !r.OK {
			continue
		}
		if r.Node.IsNull() || !r.Node.IsScalar() || !path.IsAbs(r.Node.Text) {
			c.Errorf(e.location.Pos(), code.ReqLocation, "%s must be an absolute path in the container", of)
			continue
		}
		at := path.Clean(r.Node.Text)
		if other, taken := volumes[at]; taken {
			c.Errorf(e.Pos, code.ReqTwice, "%s %q is already used by volume %q", of, at, other)
			continue
		}
		volumes[at] = e.target.Name
		all = append(all, spec.Storage{Volume: e.target.Name, Location: at})
	}
	slices.SortFunc(all, func(a, b spec.Storage) int {
		return cmp.Or(strings.Compare(a.Volume, b.Volume), strings.Compare(a.Location, b.Location))
	})
	return all
}

// componentArtifacts returns the artifacts of a component, which must be files of the
// archive.
func (c *compiler) componentArtifacts(n *node) []spec.Artifact {
	check.ArtifactTypes(c.Graph, n.Node)
	var all []spec.Artifact
	for _, a := range c.Artifacts(n.Node) {
		what := n.Of() + ": artifact " + quote(a.Name)
		if a.Repository.Name != "" {
			c.Errorf(a.Repository.Pos, code.ArtRepository, "%s is in repository %q, and nothing is fetched: put the file into the archive", what, a.Repository.Name)
			continue
		}
		if !check.IsConstant(c.Graph, a.Artifact, what) {
			continue
		}
		if p, ok := c.File(a.In, a.File, what); ok {
			all = append(all, spec.Artifact{Name: a.Name, Type: a.Type.Name, Path: p})
		}
	}
	return all
}
