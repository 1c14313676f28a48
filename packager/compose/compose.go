// Package compose writes a plan as Compose files: docker-compose.yml for `docker stack deploy`, docker-compose.local.yml for a
// single engine, and the credentials beside them. The same plan and credentials produce the same bytes. It starts no
// goroutine.
package compose

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/spec"
)

// The Compose files of an output folder.
const (
	SwarmFile = "docker-compose.yml"
	LocalFile = "docker-compose.local.yml"
)

// version is the Compose specification's version in all files.
const version = "3.7"

// The values of Options (Compose 3.7, "deploy.endpoint_mode" and "ports").
const (
	EndpointVIP    = "vip"
	EndpointDNSRR  = "dnsrr"
	PublishIngress = "ingress"
	PublishHost    = "host"
)

// Options configure the network of a Swarm.
type Options struct {
	EndpointMode string // vip or dnsrr
	PublishMode  string // ingress or host
	Encrypted    bool   // encrypt traffic between machines on the overlay network
}

// Validate returns an error for options that no Swarm supports.
func (o Options) Validate() error {
	if modes := []string{EndpointVIP, EndpointDNSRR}; !slices.Contains(modes, o.EndpointMode) {
		return fmt.Errorf("endpoint mode %q is not one of %s", o.EndpointMode, strings.Join(modes, ", "))
	}
	if modes := []string{PublishIngress, PublishHost}; !slices.Contains(modes, o.PublishMode) {
		return fmt.Errorf("publish mode %q is not one of %s", o.PublishMode, strings.Join(modes, ", "))
	}
	if o.EndpointMode == EndpointDNSRR && o.PublishMode == PublishIngress {
		return fmt.Errorf("endpoint mode %s has no virtual IP for publish mode %s to publish: use --publish-mode %s", EndpointDNSRR, PublishIngress, PublishHost)
	}
	return nil
}

// network is the network of all services.
const network = "toskose"

type file struct {
	Version  string             `yaml:"version"`
	Info     *output.Info       `yaml:"x-toskose,omitempty"`
	Services map[string]service `yaml:"services"`
	Networks map[string]net     `yaml:"networks"`
	Volumes  map[string]volume  `yaml:"volumes,omitempty"`
	Secrets  map[string]secret  `yaml:"secrets,omitempty"`
}

type net struct {
	Driver     string            `yaml:"driver"`
	Attachable bool              `yaml:"attachable,omitempty"`
	Options    map[string]string `yaml:"driver_opts,omitempty"`
}

type volume struct {
	Name     text            `yaml:"name,omitempty"`
	External bool            `yaml:"external,omitempty"`
	Driver   text            `yaml:"driver,omitempty"`
	Options  map[string]text `yaml:"driver_opts,omitempty"`
	Labels   map[string]text `yaml:"labels,omitempty"`
}

type secret struct {
	Name     string `yaml:"name"`
	File     string `yaml:"file,omitempty"`
	External bool   `yaml:"external,omitempty"`
	User     string `yaml:"x-toskose-user,omitempty"` // ID of the only user that reads it; empty: all users of the container read it
}

type service struct {
	Image       text             `yaml:"image,omitempty"`
	Command     []text           `yaml:"command,omitempty"`
	Environment map[string]value `yaml:"environment,omitempty"`
	Labels      map[string]text  `yaml:"labels,omitempty"`
	Ports       []port           `yaml:"ports,omitempty"`
	Volumes     []mount          `yaml:"volumes,omitempty"`
	Secrets     []secretRef      `yaml:"secrets,omitempty"`
	Networks    map[string]onNet `yaml:"networks,omitempty"`
	DependsOn   []string         `yaml:"depends_on,omitempty"`
	Health      *health          `yaml:"healthcheck,omitempty"`
	StopGrace   string           `yaml:"stop_grace_period,omitempty"`
	Restart     text             `yaml:"restart,omitempty"`
	User        text             `yaml:"user,omitempty"`
	ReadOnly    bool             `yaml:"read_only,omitempty"`
	CapDrop     []string         `yaml:"cap_drop,flow,omitempty"`
	Security    []string         `yaml:"security_opt,flow,omitempty"`
	Deploy      *deploy          `yaml:"deploy,omitempty"`
	more        config.Fragment  // further keys, none of which is set above
}

type port struct {
	Target    int    `yaml:"target"`
	Published int    `yaml:"published"`
	Protocol  string `yaml:"protocol"`
	Mode      string `yaml:"mode"`
	bind      string // an IP address of the engine's machine; empty: all
}

type mount struct {
	Type     string `yaml:"type"`
	Source   text   `yaml:"source"`
	Target   text   `yaml:"target"`
	ReadOnly bool   `yaml:"read_only,omitempty"`
	relabel  string // z or Z; empty: the files keep their SELinux label
}

// MarshalYAML encodes a mount with a SELinux mode in the short syntax: the long syntax of Compose 3.7 has no such mode.
func (m mount) MarshalYAML() (any, error) {
	if m.relabel == "" {
		type plain mount
		return plain(m), nil
	}
	share := spec.Share{ReadOnly: m.ReadOnly, Relabel: m.relabel}
	return text(fmt.Sprintf("%s:%s:%s", m.Source, m.Target, share.Mode())), nil
}

type onNet struct {
	Aliases []string `yaml:"aliases,omitempty"`
}

// value is the value of an environment variable.
type value = yaml.Marshaler

// reference is the name of a variable that Compose substitutes; an unset variable is empty.
type reference string

// MarshalYAML returns a Compose variable substitution.
func (r reference) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: "${" + string(r) + ":-}"}, nil
}

// text is a value from user input. It is always quoted, so that no parser reads it as a number or boolean, and contains no
// variables.
type text string

// Text is a value from user input, for others that write Compose files: it is always quoted, and contains no variables.
type Text = text

// MarshalYAML quotes the text and escapes "$".
func (t text) MarshalYAML() (any, error) {
	return &yaml.Node{
		Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle,
		Value: withoutVariables(string(t)),
	}, nil
}

// SwarmTarget returns a target that writes only the Swarm's Compose file. It fails if a port of the application has an address.
func SwarmTarget(opts Options) output.Target { return swarmTarget(opts, true) }

func swarmTarget(opts Options, swarmOnly bool) output.Target {
	return func(plan *packager.Plan, secrets output.Secrets) ([]output.File, error) {
		if err := opts.Validate(); err != nil {
			return nil, err
		}
		if bound := boundPorts(plan); swarmOnly && len(bound) > 0 {
			return nil, NotOnSwarm(bound)
		}
		swarm, err := Swarm(plan, opts, secrets)
		return []output.File{{Name: SwarmFile, Mode: 0o644, Data: swarm}}, err
	}
}

// Target returns a target that writes the Compose files for a Swarm and for a single engine.
func Target(opts Options) output.Target {
	return func(plan *packager.Plan, secrets output.Secrets) ([]output.File, error) {
		files, err := swarmTarget(opts, false)(plan, secrets)
		if err != nil {
			return nil, err
		}
		local, err := Local(plan, opts, secrets)
		return append([]output.File{{Name: LocalFile, Mode: 0o644, Data: local}}, files...), err
	}
}

// Swarm returns docker-compose.yml.
func Swarm(plan *packager.Plan, opts Options, secrets output.Secrets) ([]byte, error) {
	return encode(forSwarm(plan, opts, secrets))
}

func forSwarm(plan *packager.Plan, opts Options, secrets output.Secrets) file {
	f := file{
		Version: version, Info: infoOf(plan, opts, secrets.External), Services: map[string]service{},
		Networks: map[string]net{network: overlay(opts)},
		Volumes:  map[string]volume{}, Secrets: map[string]secret{},
	}
	names := ServiceNames(plan)
	others := plan.OtherNames(func(service, alias string) string {
		if resolvable(alias) {
			return alias
		}
		return names[service]
	})
	for _, s := range plan.Services {
		service := swarmService(s, opts, names)
		service.Labels = labelsOf(plan, s)
		service.addFragment(s.Compose)
		if s.IsManager && others != "" {
			service.Environment["TOSKOSE_DISCOVERY_NAMES"] = text(others)
		}
		f.Services[names[s.Name]] = service
	}
	for _, v := range plan.Volumes {
		f.Volumes[v.Name] = volume{Name: text(v.Existing), External: v.Existing != "", Driver: text(v.Driver), Options: texts(v.Options)}
	}
	f.addDocuments(plan, names)
	for _, s := range plan.Secrets {
		name := plan.App + "_" + s.Name
		if secrets.External {
			f.Secrets[s.Name] = secret{Name: externalName(name), External: true}
			continue
		}
		f.Secrets[s.Name] = secret{Name: SecretName(plan.App, s.Name, secrets.Suffixes[s.Name]), File: "./" + output.SecretsDir + "/" + s.Name}
	}
	return f
}

func overlay(opts Options) net {
	n := net{Driver: "overlay", Attachable: true}
	if opts.Encrypted {
		n.Options = map[string]string{"encrypted": "true"}
	}
	return n
}

// labelsOf returns the labels of a service's containers. Two of them are for kompose. Without them, it generates manifests
// that pull images already on the cluster, and Services only for published ports, with a single address for all replicas; the
// manager must reach each replica separately.
func labelsOf(plan *packager.Plan, s packager.Service) map[string]text {
	labels := map[string]text{packager.LabelApp: text(plan.App), "kompose.image-pull-policy": "IfNotPresent"}
	if !s.IsManager {
		labels[packager.LabelNode] = text(s.Name)
		labels["kompose.service.type"] = "headless"
	}
	if s.Job != nil {
		labels[packager.LabelJob] = text(s.Job.Name)
	}
	if external := plan.ExternalLabel(s); external != "" {
		labels[packager.LabelExternal] = text(external)
	}
	if len(s.Secrets) > 0 && s.SecretUser != "" && s.SecretUser != "0" { // otherwise only root can read the cluster's secrets
		labels["kompose.security-context.fsgroup"] = text(s.SecretUser)
	}
	return labels
}

// Conversion lists the names that are lost when kompose converts the Compose file.
func Conversion(plan *packager.Plan) []string {
	names := ServiceNames(plan)
	var lost []string
	for _, s := range plan.Services {
		for _, alias := range aliasesOf(s, names) {
			lost = append(lost, fmt.Sprintf("%q of container %q (dial %q)", alias, s.Name, names[s.Name]))
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return []string{"kompose drops other names of containers, which --target kubernetes keeps: " + strings.Join(lost, ", ")}
}

// Warnings lists the names that DNS cannot resolve.
func Warnings(plan *packager.Plan) []string {
	names := ServiceNames(plan)
	var out []string
	for _, s := range plan.Services {
		for _, name := range append([]string{s.Name}, s.Aliases...) {
			if !resolvable(name) {
				out = append(out, fmt.Sprintf("container %q: its name %q cannot be resolved; clients have to dial %q", s.Name, name, names[s.Name]))
			}
		}
	}
	return out
}

// aliasesOf returns a service's additional names on the network.
func aliasesOf(s packager.Service, names map[string]string) []string {
	all := slices.Clone(s.Aliases)
	if names[s.Name] != s.Name {
		all = append(all, s.Name)
	}
	slices.Sort(all)
	return slices.DeleteFunc(all, func(alias string) bool { return alias == names[s.Name] })
}

func swarmService(s packager.Service, opts Options, names map[string]string) service {
	out := service{
		Image: text(s.Image), Environment: map[string]value{},
		Networks: map[string]onNet{network: {Aliases: aliasesOf(s, names)}},
		Deploy:   deployOf(s, opts),
	}
	for name, v := range s.Env {
		out.Environment[name] = text(v)
	}
	if s.IsToskosed {
		out.Environment[labelHost], out.Environment[labelSlot] = text("{{.Node.Hostname}}"), text("{{.Task.Slot}}")
		out.Environment[documentsOwner] = text("{{.Service.ID}}") // a redeployed stack has new service IDs
	}
	for _, other := range s.DependsOn {
		out.DependsOn = append(out.DependsOn, names[other])
	}
	slices.Sort(out.DependsOn)
	for _, word := range s.Command {
		out.Command = append(out.Command, text(word))
	}
	for _, p := range s.Ports {
		if p.Bind != "" && !s.IsManager {
			continue // a Swarm would publish it at all addresses
		}
		out.Ports = append(out.Ports, port{Target: p.Container, Published: p.Host, Protocol: p.Protocol, Mode: opts.PublishMode})
	}
	for _, m := range s.Mounts {
		out.Volumes = append(out.Volumes, mount{Type: "volume", Source: text(m.Volume), Target: text(m.Container)})
	}
	for _, b := range s.Binds {
		out.Volumes = append(out.Volumes, mount{Type: "bind", Source: text(b.Host), Target: text(b.Container), ReadOnly: b.ReadOnly})
	}
	for _, name := range s.Secrets {
		ref := secretRef{Source: name, Target: name}
		if s.SecretUser != "" {
			ref.UID, ref.GID, ref.Mode = s.SecretUser, "0", output.SecretMode
		}
		out.Secrets = append(out.Secrets, ref)
	}
	out.Health = healthOf(s)
	if s.StopGrace > 0 {
		out.StopGrace = strconv.Itoa(s.StopGrace) + "s"
	}
	if s.IsManager { // the manager needs no privileges and writes no files
		out.User, out.ReadOnly, out.CapDrop = text(s.User), true, []string{"ALL"}
		out.Environment[discovery] = text("tasks")
	}
	return out
}

// Environment variables: how the manager finds replicas, where a replica runs, and the owner of the documents that a unit
// stores. A Swarm fills in the last three.
const (
	discovery = "TOSKOSE_DISCOVERY"
	labelHost = "TOSKOSE_LABEL_HOST"
	labelSlot = "TOSKOSE_LABEL_SLOT"

	documentsOwner = "TOSKOSE_DOCUMENTS_OWNER"
)

func encode(f file) ([]byte, error) {
	buf := bytes.NewBufferString(output.Header)
	enc := yaml.NewEncoder(buf)
	enc.SetIndent(2)
	if err := enc.Encode(f); err != nil {
		return nil, fmt.Errorf("cannot encode the Compose file: %w", err)
	}
	return buf.Bytes(), enc.Close()
}

func texts(m map[string]string) map[string]text {
	out := map[string]text{}
	for key, value := range m {
		out[key] = text(value)
	}
	return out
}
