package attach

import (
	"bytes"
	"cmp"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
)

type text = compose.Text

// file is the second Compose file.
type file struct {
	Version  text               `yaml:"version,omitempty"`
	About    about              `yaml:"x-toskose"`
	Services map[string]service `yaml:"services"`
	Networks map[string]none    `yaml:"networks,omitempty"`
	Secrets  map[string]secret  `yaml:"secrets"`
}

type none struct{}

// about is what Detach reads.
type about struct {
	Project string   `yaml:"project"`
	Files   []string `yaml:"files"`  // Compose files, relative to the second one
	Folder  string   `yaml:"folder"` // relative to the second file
	Image   string   `yaml:"image"`  // of the manager
}

type secret struct {
	File text `yaml:"file"`
}

type service struct {
	Image       text           `yaml:"image,omitempty"`
	Build       *build         `yaml:"build,omitempty"`
	Environment map[string]any `yaml:"environment,omitempty"`
	Volumes     []mount        `yaml:"volumes,omitempty"`
	Secrets     []secretRef    `yaml:"secrets,omitempty"`
	Networks    []string       `yaml:"networks,omitempty"`
	Ports       []text         `yaml:"ports,omitempty"`
	Labels      map[string]any `yaml:"labels,omitempty"`
	Restart     text           `yaml:"restart,omitempty"`
	ReadOnly    bool           `yaml:"read_only,omitempty"`
	CapDrop     []string       `yaml:"cap_drop,flow,omitempty"`
	Security    []string       `yaml:"security_opt,flow,omitempty"`
}

type build struct {
	Context text `yaml:"context"`
}

type mount struct {
	Type     string `yaml:"type"`
	Source   text   `yaml:"source"`
	Target   text   `yaml:"target"`
	ReadOnly bool   `yaml:"read_only,omitempty"`
}

type secretRef struct {
	Source string `yaml:"source"`
	Target string `yaml:"target"`
}

// mode is the manager's way to find replicas: a Swarm has another, which the environment selects.
type mode struct{}

// MarshalYAML returns a variable with a default.
func (mode) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: "${TOSKOSE_DISCOVERY:-alias}"}, nil
}

// unitSecret returns the name of a unit's secret. The prefix keeps it apart from the manager's.
func unitSecret(service, name string) string { return "unit-" + service + "-" + name }

// The kinds of secrets of a unit. The manager has certificates, too.
const (
	passwordSecret = "password"
	certSecret     = "tls.crt"
	keySecret      = "tls.key"
)

// managerSecret returns the name of a certificate or a key of the manager.
func managerSecret(name string) string { return "manager-" + name }

// key returns the name of a secret in the second file and in containers.
func key(secret string) string { return "toskose-" + secret }

func inContainer(secret string) text { return text(path.Join(packager.SecretsPath, key(secret))) }

// renderer makes the second file.
type renderer struct {
	project  *project
	opts     Options
	findings []Finding
	units    map[string]string // files of units, in the folder, by architecture
	image    string            // of the manager
	file     file
}

// render returns the second file.
func (r *renderer) render() ([]byte, error) {
	r.file = file{
		Version: text(r.project.version), Services: map[string]service{}, Secrets: map[string]secret{}, Networks: map[string]none{},
		About: about{Project: r.project.Name, Folder: filepath.Base(r.project.folder), Image: r.image},
	}
	for _, name := range r.project.ComposeFiles {
		relative, err := filepath.Rel(filepath.Dir(r.project.output), name)
		if err != nil {
			return nil, err
		}
		r.file.About.Files = append(r.file.About.Files, filepath.ToSlash(relative))
	}
	for _, f := range r.findings {
		if f.Attached {
			r.file.Services[f.Service] = r.attached(f)
		}
	}
	r.file.Services[Manager] = r.manager()
	var b bytes.Buffer
	b.WriteString(header)
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := enc.Encode(r.file)
	return b.Bytes(), err
}

// path returns a path in the folder as Compose resolves it: relative to the folder of the first
// file.
func (r *renderer) path(name string) text {
	full := filepath.Join(r.project.folder, name)
	relative, err := filepath.Rel(r.project.WorkingDir, full)
	if err != nil {
		return text(filepath.ToSlash(full))
	}
	return text("./" + filepath.ToSlash(relative))
}

// secret adds a secret and returns its reference.
func (r *renderer) secret(name, target string) secretRef {
	r.file.Secrets[key(name)] = secret{r.path(filepath.Join("secrets", name))}
	return secretRef{key(name), target}
}

// attached returns the additions of the second file to a service.
func (r *renderer) attached(f Finding) service {
	own := func(name string) string { return unitSecret(f.Service, name) }
	s := service{
		Environment: map[string]any{
			"TOSKOSE_UNIT_LISTEN":       text(":" + strconv.Itoa(f.Port)),
			"SUPERVISORD_PASSWORD_FILE": inContainer(own(passwordSecret)),
		},
		Secrets: []secretRef{r.secret(own(passwordSecret), key(own(passwordSecret)))},
	}
	if r.opts.TLS {
		for variable, name := range map[string]string{
			"TOSKOSE_UNIT_TLS_CERT": own(certSecret), "TOSKOSE_UNIT_TLS_KEY": own(keySecret), "TOSKOSE_UNIT_TLS_CLIENT_CA": packager.TLSAuthority,
		} {
			s.Environment[variable] = inContainer(name)
			s.Secrets = append(s.Secrets, r.secret(name, key(name)))
		}
		sortRefs(s.Secrets)
	}
	for _, target := range f.Supervisord {
		s.Volumes = append(s.Volumes, mount{Type: "bind", Source: r.path(r.units[f.arch]), Target: text(target), ReadOnly: true})
	}
	s.Volumes = append(s.Volumes, mount{Type: "bind", Source: r.path(filepath.Join(documentsFolder, f.Service)), Target: packager.DocumentsPath})
	return s
}

func sortRefs(refs []secretRef) {
	slices.SortFunc(refs, func(a, b secretRef) int { return cmp.Compare(a.Source, b.Source) })
}

// manager returns the manager's service.
func (r *renderer) manager() service {
	port := strconv.Itoa(r.opts.Port)
	s := service{
		Image: text(r.image), Build: &build{r.path(managerFolder)}, Restart: "unless-stopped",
		ReadOnly: true, CapDrop: []string{"ALL"}, Security: []string{"no-new-privileges:true"},
		Ports:  []text{text("127.0.0.1:" + port + ":" + port)},
		Labels: map[string]any{packager.LabelApp: text(r.project.Name)},
		Environment: map[string]any{
			"TOSKOSE_DISCOVERY":             mode{},
			"TOSKOSE_MANAGER_PORT":          text(port),
			"TOSKOSE_MANAGER_USER":          text(user),
			"TOSKOSE_MANAGER_PASSWORD_FILE": inContainer(packager.ManagerPassword),
			"TOSKOSE_MANAGER_USERS_FILE":    inContainer(packager.ManagerUsers),
			"SECRET_KEY_FILE":               inContainer(packager.ManagerSecretKey),
			"TOSKOSE_SECRETS":               text(packager.SecretsPath),
		},
	}
	secrets := []string{packager.ManagerPassword, packager.ManagerUsers, packager.ManagerSecretKey}
	if r.opts.TLS {
		cert, certKey := managerSecret(certSecret), managerSecret(keySecret)
		secrets = append(secrets, packager.TLSAuthority, cert, certKey)
		maps.Copy(s.Environment, map[string]any{
			"TOSKOSE_TLS_CA": inContainer(packager.TLSAuthority), "TOSKOSE_TLS_CERT": inContainer(cert), "TOSKOSE_TLS_KEY": inContainer(certKey),
			"TOSKOSE_MANAGER_TLS_CERT": inContainer(cert), "TOSKOSE_MANAGER_TLS_KEY": inContainer(certKey),
		})
	}
	for _, name := range secrets {
		s.Secrets = append(s.Secrets, r.secret(name, key(name)))
	}
	for _, f := range r.findings {
		if f.Attached { // the manager reads NODE-password in the folder of its secrets
			s.Secrets = append(s.Secrets, r.secret(unitSecret(f.Service, passwordSecret), packager.UnitPassword(f.Service)))
		}
	}
	sortRefs(s.Secrets)
	s.Networks = r.networks()
	return s
}

// managerNetwork is the manager's own network if all others are internal: ports cannot be published
// on these.
const managerNetwork = "toskose"

// networks returns the networks of the nodes, or nil for Compose's default network.
func (r *renderer) networks() []string {
	joined := map[string]bool{}
	for _, f := range r.findings {
		s := r.project.Services[f.Service]
		if s.NetworkMode == "" {
			for name := range s.Networks {
				joined[name] = true
			}
		}
	}
	names := slices.Sorted(maps.Keys(joined))
	if slices.Equal(names, []string{"default"}) && !r.project.Networks["default"].Internal {
		return nil
	}
	if !slices.ContainsFunc(names, func(name string) bool { return !r.project.Networks[name].Internal }) {
		r.file.Networks[managerNetwork] = none{}
		names = append(names, managerNetwork)
	}
	return names
}
