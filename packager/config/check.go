package config

import (
	"crypto/x509"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/distribution/reference"

	"github.com/toskose/toskose/internal/located"
	"github.com/toskose/toskose/spec"
)

// logLevels are Supervisor's log levels, from the least to the most verbose.
var logLevels = []string{"CRITICAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "BLATHER"}

// The modes of the manager. In testing, it logs more and its responses have more details.
const (
	modeProduction = "production"
	modeTesting    = "testing"
)

// The goals of a manager until a client sets one.
const (
	GoalNone = "none" // no goal
	GoalUp   = "up"   // all components are up
)

// aliasForm matches RFC 1123 labels, and underscores, which container engines resolve.
var aliasForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)

// check reports invalid values of the right type.
func (d *decoder) check(cfg Config, target *Target) {
	ports, aliases := map[int]string{}, map[string]string{}
	for _, name := range located.Keys(cfg.Nodes) {
		n, path := cfg.Nodes[name], "nodes."+name
		if target != nil && !d.checkNode(name, n, target) {
			continue
		}
		d.checkUnit(path, n.Alias, n.Port, n.User, n.Password)
		d.oneOf(path+".log_level", strings.ToUpper(n.LogLevel), logLevels)
		d.amount(path+".logs.total", n.Logs.Total, leastLog)
		d.checkDocker(path+".docker", n.Docker)
		d.atLeastOne(path+".max_unavailable", n.MaxUnavailable)
		d.checkPorts(path+".ports", n.Ports)
		d.checkDeploy(path+".deploy", n.Deploy)
		d.checkCompose(path+".compose", n, target.node(name), cfg.Secrets)
		d.checkComponents(path+".components", name, n.Components, target)
		d.unique(path, "port", n.Port, ports)
		alias := n.Alias
		if alias == "" {
			alias = name
		}
		d.uniqueAlias(path, alias, aliases)
	}
	d.checkVolumes(cfg.Volumes, target)
	d.checkAllowed(cfg.AllowHost)
	d.checkComponents("components", "", cfg.Components, target)
	d.checkSecrets(cfg.Secrets, target)
	d.checkManager(cfg.Manager, cfg.Nodes, target, ports, aliases)
}

func (d *decoder) checkManager(m Manager, nodes map[string]Node, target *Target, ports map[int]string, aliases map[string]string) {
	d.checkUnit("manager", m.Alias, m.Port, m.User, m.Password)
	if at, err := netip.ParseAddr(m.Bind); m.Bind != "" && (err != nil || at.Zone() != "") {
		d.ReportAt("manager.bind", "%q is not an address: write 127.0.0.1, one of the machine's own, or 0.0.0.0 for all", m.Bind)
	}
	d.oneOf("manager.mode", m.Mode, []string{modeProduction, modeTesting})
	d.oneOf("manager.goal", m.Goal, []string{GoalNone, GoalUp})
	d.checkDocker("manager.docker", m.Docker)
	d.secret("manager.secret_key", m.SecretKey)
	if m.ClientCA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(m.ClientCA)) {
		d.ReportAt("manager.client_ca", "must be certificates in PEM")
	}
	for _, name := range slices.Sorted(maps.Keys(m.Env)) {
		switch {
		case !strings.HasPrefix(name, "OTEL_"):
			d.ReportAt("manager.env."+name, "the manager has no such variable: only variables of OpenTelemetry (OTEL_*) are set here")
		case strings.HasSuffix(name, "_HEADERS"):
			d.ReportAt("manager.env."+name, "headers are credentials, and manifests are not secret: send traces to a collector that needs none, and have it send them on")
		}
	}
	if (m.TLS.Certificate == "") != (m.TLS.Key == "") {
		d.ReportAt("manager.tls", "needs certificate and key")
	}
	d.unique("manager", "port", m.Port, ports)
	if m.Alias != "" {
		d.uniqueAlias("manager", m.Alias, aliases)
	}
	if target != nil && m.Port != 0 && slices.Contains(target.hostPorts(nodes), m.Port) {
		d.ReportAt("manager.port", "%d is a port that the application publishes", m.Port)
	}
}

// checkNode reports whether the target has a node, and checks settings that depend on the target.
func (d *decoder) checkNode(name string, n Node, target *Target) bool {
	path := "nodes." + name
	i := slices.IndexFunc(target.Nodes, func(t TargetNode) bool { return t.Name == name })
	if i < 0 {
		names := make([]string, len(target.Nodes))
		for i, t := range target.Nodes {
			names[i] = t.Name
		}
		d.ReportAt(path, "the application has no container of this name%s", located.DidYouMean(name, names))
		return false
	}
	t := target.Nodes[i]
	if !t.Toskosed {
		alone := Node{Alias: n.Alias, Ports: n.Ports, Deploy: n.Deploy, Compose: n.Compose, Kubernetes: n.Kubernetes}
		can := "its alias, ports, deploy, compose and kubernetes"
		if t.Built {
			alone.Docker = Docker{Name: n.Docker.Name, Tag: n.Docker.Tag, RegistryPassword: n.Docker.RegistryPassword}
			can = "its alias, ports, deploy, compose, kubernetes, and name, tag and registry_password of docker"
		}
		if !reflect.DeepEqual(alone, n) {
			d.ReportAt(path, "the container hosts no components, so it has no unit; only %s can be set", can)
			return false
		}
	}
	if n.Port != 0 && slices.ContainsFunc(t.published(n), func(p spec.Port) bool { return p.Container == n.Port }) {
		d.ReportAt(path+".port", "%d is a port of the application in the same container", n.Port)
	}
	return true
}

func (d *decoder) has(path string) bool {
	_, ok := d.At[path]
	return ok
}

func (d *decoder) checkUnit(path, alias string, port int, user, password string) {
	if alias != "" && (len(alias) > 63 || !aliasForm.MatchString(alias)) {
		d.ReportAt(path+".alias", "%q is not a name for a network: letters, digits, '-', '_' and '.', at most 63", alias)
	}
	if d.has(path+".port") && !d.Bad[path+".port"] && (port < 1 || port > 65535) {
		d.ReportAt(path+".port", "%d is not a port: it must be from 1 to 65535", port)
	}
	if strings.ContainsAny(user, ":\"") || hasControl(user) {
		d.ReportAt(path+".user", "%q must have no colon, quotation mark or control character", user)
	}
	if strings.HasPrefix(password, "{SHA}") {
		d.ReportAt(path+".password", "must be clear text: the manager sends it")
	}
	d.secret(path+".password", password)
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func (d *decoder) secret(path, value string) {
	if hasControl(value) {
		d.ReportAt(path, "must have no line break or other control character")
	}
}

func (d *decoder) oneOf(path, value string, known []string) {
	if value != "" && !slices.Contains(known, value) {
		d.ReportAt(path, "%q is not one of %s%s", value, strings.Join(known, ", "), located.DidYouMean(value, known))
	}
}

func (d *decoder) unique(path, key string, port int, seen map[int]string) {
	if port == 0 {
		return
	}
	if other, ok := seen[port]; ok {
		d.ReportAt(path+"."+key, "%d is already taken by %s", port, other)
		return
	}
	seen[port] = path
}

func (d *decoder) uniqueAlias(path, alias string, seen map[string]string) {
	if other, ok := seen[alias]; ok {
		at := path
		if d.has(path + ".alias") {
			at = path + ".alias"
		}
		d.ReportAt(at, "%q is already taken by %s", alias, other)
		return
	}
	seen[alias] = path
}

func (d *decoder) checkDocker(path string, docker Docker) {
	if docker.Name != "" {
		if err := validName(docker.Name); err != nil {
			d.ReportAt(path+".name", "%v", err)
		}
	}
	if docker.BaseImage != "" {
		if _, err := reference.ParseNormalizedNamed(docker.BaseImage); err != nil {
			d.ReportAt(path+".base_image", "%q is not an image: %v", docker.BaseImage, err)
		} else if docker.BaseTag != "" && validName(docker.BaseImage) != nil {
			d.ReportAt(path+".base_tag", "%q already has a tag or digest", docker.BaseImage)
		}
	}
	for key, tag := range map[string]string{"tag": docker.Tag, "base_tag": docker.BaseTag} {
		if tag != "" && reference.TagRegexp.FindString(tag) != tag {
			d.ReportAt(path+"."+key, "%q is not a tag", tag)
		}
	}
	d.secret(path+".registry_password", docker.RegistryPassword)
}

// withTag returns the image with another tag and without a digest.
func withTag(image, tag string) (string, error) {
	parsed, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", fmt.Errorf("%q is not an image: %w", image, err)
	}
	tagged, err := reference.WithTag(reference.TrimNamed(parsed), tag)
	if err != nil {
		return "", fmt.Errorf("cannot tag %q with %q: %w", image, tag, err)
	}
	return reference.FamiliarString(tagged), nil
}

// validName rejects a repository name with a tag or digest.
func validName(name string) error {
	parsed, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return fmt.Errorf("%q is not an image name: %w", name, err)
	}
	if !reference.IsNameOnly(parsed) {
		return fmt.Errorf("%q must have no tag or digest; the tag has its own key", name)
	}
	return nil
}
