package packager

import (
	"cmp"
	"crypto/x509"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
)

// Plan lists the images and services of an application. Slices are sorted by name unless a comment
// says otherwise.
type Plan struct {
	App         string            // the application's name, valid as a stack and project name
	Version     string            // of Toskose
	Images      []Image           // of nodes: toskosed, or built from the archive; then the manager's
	Services    []Service         // all containers, the manager's last
	Volumes     []Volume          //
	Secrets     []Secret          //
	Config      config.Config     // completed
	Document    *spec.Application // as the manager reads it
	Digests     map[string]string // of the configurations of the units, by node, as these report them
	Certificate *x509.Certificate // the user's certificate for the manager's API; nil: none
	Host        []HostPath        // paths of the host that it uses
	Warnings    []string          // lost settings and likely mistakes, for the user

	Components map[string]Component // to compare releases
}

// Image is an image to build by copying files onto a base.
type Image struct {
	Name string // reference of the result
	Node string // the node it is for; empty: the manager
	Base string // reference of the base; empty: this version's image of the manager
	// Dockerfile is the path in the archive of the Dockerfile that builds Base, with its folder as
	// the context; empty: Base exists.
	Dockerfile string
	Unit       bool // the unit is copied into it
	Env        map[string]string
	Labels     map[string]string
	Files      []File   // sorted by path; folders before their contents
	Scripts    []string // of the archive, which operations run; sorted
	Path       string   // PATH of the container, where the application sets it
	Entry      []string // entry point; empty: the base's
	Health     []string // health check

	// RegistryPassword is for pushing the image, with the first element of its name as the user.
	RegistryPassword string
}

// Alone reports whether the image is the unmodified result of its Dockerfile, as for a standalone
// container.
func (i Image) Alone() bool { return i.Dockerfile != "" && i.Base == i.Name }

// File is a file or folder in an image.
type File struct {
	Path   string // absolute, in the image
	Mode   uint32 // permission bits
	Dir    bool
	Owned  bool   // belongs to the base's user and group 0, otherwise to root
	Data   []byte // contents, or
	Source string // the path in the archive they come from
}

// Service is one container of the application.
type Service struct {
	Name       string
	Image      string
	User       string   // the user that its image runs as; empty: not known
	SecretUser string   `json:",omitempty"` // number of the only user that reads its secrets; empty: all users of the container do
	Aliases    []string // names on the network besides Name, sorted
	Command    []string
	Env        map[string]string
	Ports      []Port // by container port
	Internal   []Port // ports that it does not publish; without a host port
	Binds      []Bind // by container path
	Mounts     []Mount
	Secrets    []string // names of Secrets, mounted as /run/secrets/NAME
	DependsOn  []string // without cycles
	Deploy     config.Deploy
	StopGrace  int      // seconds; 0: the engine's own
	Health     []string // health check; empty: the image's
	Pulse      []string // health check to run every PulseInterval; empty: Health
	Ready      []string // readiness check; empty: it is ready if it is healthy
	UnitPort   int      // of the unit or the manager; 0: standalone
	UnitPasswd string   // name of the secret with the unit's or the manager's password
	IsManager  bool
	IsToskosed bool
	Compose    config.Fragment `json:",omitzero"`  // further keys in the Compose files
	Patch      config.Fragment `json:",omitzero"`  // of the workload on Kubernetes
	Job        *Job            `json:",omitempty"` // the job after which it exits; nil: it does not exit
}

// Job is the Task that a container runs without the manager.
type Job struct {
	Name string
	spec.Task
}

// Port is a container's port, published by one of the host.
type Port struct {
	Container, Host int    // Host 0: not published
	Protocol        string // tcp or udp
	Bind            string // the address of a single engine that it is published at; empty: all
}

// Bind mounts a host path.
type Bind struct {
	Host, Container string
	ReadOnly        bool   `json:",omitempty"`
	Relabel         string `json:",omitempty"` // z or Z, on a single engine
}

// Mount attaches a volume.
type Mount struct{ Volume, Container string }

// Volume is a named volume.
type Volume struct {
	Name    string
	Driver  string
	Options map[string]string

	// Existing is the name of the engine's volume or the cluster's claim that is used; empty: the application has its own.
	Existing string `json:",omitempty"`
}

// Secret is a credential passed to containers as a file. packager/output stores its value next to
// the manifests, never in them.
type Secret struct {
	Name  string
	Given string // the user's value; empty: generate one
	Begin string // its initial value, instead of a generated one

	TLS *TLS // it is a certificate or a key, and no password

	Application bool // it is the application's own; the manager does not get it
}

// TLS reports whether manager and units use TLS.
func (p *Plan) TLS() bool {
	return slices.ContainsFunc(p.Secrets, func(s Secret) bool { return s.TLS != nil })
}

// Manager returns the manager's service.
func (p *Plan) Manager() Service { return p.Services[len(p.Services)-1] }

// Pinned returns the plan with immutable image names in its services. pin returns the immutable
// name, and the image's user if known.
func (p *Plan) Pinned(pin func(ref string) (name, user string)) *Plan {
	pinned := *p
	pinned.Services = slices.Clone(p.Services)
	for i := range pinned.Services {
		s := &pinned.Services[i]
		name, user := pin(s.Image)
		s.Image, s.User = name, cmp.Or(s.User, user)
	}
	return &pinned
}

// WithSecretUsers returns the plan with secrets that only the user of each unit can read.
// userOf returns the numeric ID of the user that an image runs as, or "" if it is unknown. The
// secrets of a standalone container stay readable for all of its users, because programs often read
// them after they have changed their user.
func (p *Plan) WithSecretUsers(userOf func(image string) string) *Plan {
	out := *p
	out.Services = slices.Clone(p.Services)
	for i := range out.Services {
		if s := &out.Services[i]; s.IsToskosed {
			s.SecretUser = userOf(s.Image)
		}
	}
	return &out
}

// OtherNames lists, as ALIAS=NAME, the aliases of containers that have another name in DNS
// (TOSKOSE_DISCOVERY_NAMES, TOSKOSE_DISCOVERY_UNITS).
func (p *Plan) OtherNames(nameOf func(service, alias string) string) string {
	var pairs []string
	for _, s := range p.Services {
		if alias := p.Config.Nodes[s.Name].Alias; alias != "" && nameOf(s.Name, alias) != alias {
			pairs = append(pairs, alias+"="+nameOf(s.Name, alias))
		}
	}
	return strings.Join(pairs, ",")
}

// Paths in a toskosed image and in the manager's image.
const (
	UnitPath     = "/toskose/unit/toskose-unit"
	UnitConfPath = "/toskose/unit/supervisord.conf"
	// ContainerPath is the document of the container, which its unit reads along with
	// supervisord.conf.
	ContainerPath = "/toskose/unit/container.json"
	// BaseCommandPath is a script that runs the default command of the base image.
	BaseCommandPath = "/toskose/unit/base-command"
	AppsPath        = "/toskose/apps"
	StatePath       = "/toskose/state"
	// DocumentsPath is where a unit stores documents that outlive its container: each toskosed
	// service has a separate volume there.
	DocumentsPath = "/toskose/documents"
	SecretsPath   = "/run/secrets"
	ManagerPath   = "/toskose/manager/toskose-manager"
	ManagerFolder = "/toskose/manager"
	// ApplicationPath is the document of the application, which the manager reads.
	ApplicationPath = ManagerFolder + "/app.json"
	// ClientCAPath contains the authorities of users' certificates.
	ClientCAPath = ManagerFolder + "/client-ca.crt"
)

// Labels that identify images and containers.
const (
	LabelApp     = "io.toskose.app"
	LabelNode    = "io.toskose.node" // of a toskosed image; the manager's has none
	LabelVersion = "io.toskose.version"
	LabelJob     = "io.toskose.job" // of a container that runs one Task and then exits: the Task's name

	// LabelExternal is the label of a container, or the annotation of a workload, that mounts external volumes: a JSON
	// object of their names on the engine or cluster, by their names in the application.
	LabelExternal = "io.toskose.external-volumes"

	// The entry point and the command of a toskosed image's base, each a JSON list.
	LabelBaseEntrypoint = "io.toskose.base.entrypoint"
	LabelBaseCommand    = "io.toskose.base.command"
)

// IsJob reports whether a container with these labels runs one Task.
func IsJob(labels map[string]string) bool { return labels[LabelJob] != "" }

// UnitPassword returns the name of the secret with the password of a node's units.
func UnitPassword(node string) string { return node + "-password" }

// The names of the manager's own secrets.
const (
	ManagerPassword  = "manager-password"
	ManagerSecretKey = "manager-secret-key"
	ManagerUsers     = "manager-users" // the file of `toskose user`
)

// ManagerUser runs the manager. ManagerUID is its numeric ID.
const (
	ManagerUser = "65532:65532"
	ManagerUID  = "65532"
)

// The health checks of a container.
const (
	HealthInterval = 3 * time.Second
	HealthTimeout  = 5 * time.Second
	HealthRetries  = 10
)

// The health check of a unit whose first check decides when names resolve to its container: see the
// unit's command pulse, which keeps running.
const (
	PulseInterval = 500 * time.Millisecond
	PulseTimeout  = 10 * time.Second
	PulseRetries  = 30
)

// Files stored with the secrets. Their names are not available to secrets.
const (
	SecretNamesFile  = "names.json" // each secret's name in the Swarm
	RotationFile     = ".rotation"  // how far secrets that are being replaced are
	NetrcFile        = "netrc"      // curl's --netrc-file
	TLSAuthorityFile = "tls-ca.key" // the key that signs certificates; no container has it
)

// ProgramGrace is the default number of seconds between a program's stop signal and its kill
// signal.
const ProgramGrace = 10

// stopGrace returns the seconds that a container may take to stop before the engine kills it:
// twice the longest grace period of a program, and 5 more.
func stopGrace(components map[string]config.Component) int {
	longest := ProgramGrace
	for _, c := range components {
		longest = max(longest, int(config.ParseDuration(c.StopGrace).Seconds()))
	}
	return 2*longest + 5
}
