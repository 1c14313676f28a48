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
	Certificate *x509.Certificate // the user's own, of the manager's API; nil: there is none
	Host        []HostPath        // what it uses of its host
	Warnings    []string          // what is lost or surely not meant, for the user to read

	Components map[string]Component // what of them differs from one release to another
}

// Image is an image to build by copying files onto a base.
type Image struct {
	Name string // reference of the result
	Node string // the node it is for; empty: the manager
	Base string // reference of the base; empty: this version's image of the manager
	// Dockerfile is the path in the archive of what Base is built from, with its
	// folder as the context; empty: Base is there.
	Dockerfile string
	Unit       bool // the unit is copied into it
	Env        map[string]string
	Labels     map[string]string
	Files      []File   // sorted by path; parents come before what is in them
	Scripts    []string // of the archive, which operations run; sorted
	Path       string   // PATH of the container, where the application sets it
	Entry      []string // entry point; empty: the base's
	Health     []string // health check

	// RegistryPassword pushes it, as the user its name begins with.
	RegistryPassword string
}

// Alone reports whether an image is the result of its Dockerfile, with nothing
// put into it: a standalone container's.
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
	User       string   // whom its image runs as; empty: that is not known
	SecretUser string   `json:",omitempty"` // number of the only user that reads its secrets; empty: all users of the container do
	Aliases    []string // names on the network besides Name, sorted
	Command    []string
	Env        map[string]string
	Ports      []Port // by container port
	Internal   []Port // what it listens at and does not publish; no host port
	Binds      []Bind // by container path
	Mounts     []Mount
	Secrets    []string // names of Secrets, mounted as /run/secrets/NAME
	DependsOn  []string // without cycles
	Deploy     config.Deploy
	StopGrace  int      // seconds; 0: the engine's own
	Health     []string // health check; empty: the image's
	Pulse      []string // the same, where it is done every PulseInterval; empty: Health is
	Ready      []string // whether clients should be led to it; empty: where it is healthy
	UnitPort   int      // of the unit or the manager; 0: standalone
	UnitPasswd string   // name of the secret with the unit's or the manager's password
	IsManager  bool
	IsToskosed bool
	Job        *Job `json:",omitempty"` // it ends by itself, when this is complete; nil: it does not
}

// Job is the Task that a container is there for, without the manager.
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
type Bind struct{ Host, Container string }

// Mount attaches a volume.
type Mount struct{ Volume, Container string }

// Volume is a named volume.
type Volume struct {
	Name    string
	Driver  string
	Options map[string]string
}

// Secret is a credential that reaches containers as a file. Its value is kept
// beside the manifests by packager/output, never in them.
type Secret struct {
	Name  string
	Given string // the user's value; empty: generate one
	Begin string // what it is at first, in the place of a generated one

	TLS *TLS // it is a certificate or a key, and no password

	Application bool // it is the application's own; the manager does not get it
}

// TLS reports whether manager and units speak TLS.
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
// userOf returns the number of the user that an image runs as; empty: it is not known.
// A standalone container has no unit: its secrets stay readable for all of its users, as
// programs often read them after they have changed to a user of their own.
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

// OtherNames lists, as ALIAS=NAME, the aliases of containers that the manager
// finds by other names (TOSKOSE_DISCOVERY_NAMES, TOSKOSE_DISCOVERY_UNITS).
func (p *Plan) OtherNames(nameOf func(service, alias string) string) string {
	var pairs []string
	for _, s := range p.Services {
		if alias := p.Config.Nodes[s.Name].Alias; alias != "" && nameOf(s.Name, alias) != alias {
			pairs = append(pairs, alias+"="+nameOf(s.Name, alias))
		}
	}
	return strings.Join(pairs, ",")
}

// The places in a toskosed image and in the manager's.
const (
	UnitPath     = "/toskose/unit/toskose-unit"
	UnitConfPath = "/toskose/unit/supervisord.conf"
	// ContainerPath is the document of the container, which its unit reads beside supervisord.conf.
	ContainerPath = "/toskose/unit/container.json"
	// BaseCommandPath is a script that runs the default command of the base image.
	BaseCommandPath = "/toskose/unit/base-command"
	AppsPath        = "/toskose/apps"
	StatePath       = "/toskose/state"
	// DocumentsPath is where a unit keeps what outlives its container: each toskosed
	// service has a volume of its own there.
	DocumentsPath = "/toskose/documents"
	SecretsPath   = "/run/secrets"
	ManagerPath   = "/toskose/manager/toskose-manager"
	ManagerFolder = "/toskose/manager"
	// ApplicationPath is the document of the application, which the manager reads.
	ApplicationPath = ManagerFolder + "/app.json"
	// ClientCAPath has the authorities of users' certificates.
	ClientCAPath = ManagerFolder + "/client-ca.crt"
)

// The labels of images and containers, by which they are found again.
const (
	LabelApp     = "io.toskose.app"
	LabelNode    = "io.toskose.node" // of a toskosed image; the manager's has none
	LabelVersion = "io.toskose.version"
	LabelJob     = "io.toskose.job" // of a container that is there for one Task, and ends with it: the Task's name

	// Of a toskosed image: what its base runs by itself, each a JSON list.
	LabelBaseEntrypoint = "io.toskose.base.entrypoint"
	LabelBaseCommand    = "io.toskose.base.command"
)

// IsJob reports whether a container with these labels is there for one Task.
func IsJob(labels map[string]string) bool { return labels[LabelJob] != "" }

// UnitPassword is the name of the secret with the password of a node's units.
func UnitPassword(node string) string { return node + "-password" }

// The names of the manager's own secrets.
const (
	ManagerPassword  = "manager-password"
	ManagerSecretKey = "manager-secret-key"
	ManagerUsers     = "manager-users" // the file of `toskose user`
)

// ManagerUser runs the manager. ManagerUID is its number.
const (
	ManagerUser = "65532:65532"
	ManagerUID  = "65532"
)

// How often a container's health is checked, how long one check may take, and
// how many have to fail.
const (
	HealthInterval = 3 * time.Second
	HealthTimeout  = 5 * time.Second
	HealthRetries  = 10
)

// The same of a unit where the first check decides when names lead to a container: see
// the unit's command pulse, which lasts.
const (
	PulseInterval = 500 * time.Millisecond
	PulseTimeout  = 10 * time.Second
	PulseRetries  = 30
)

// The files that lie beside the secrets, so that no secret can have their names.
const (
	SecretNamesFile  = "names.json" // what a Swarm calls each secret
	RotationFile     = ".rotation"  // how far secrets that are being replaced are
	NetrcFile        = "netrc"      // curl's --netrc-file
	TLSAuthorityFile = "tls-ca.key" // the key that signs certificates; no container has it
)

// ProgramGrace is the default number of seconds between a program's stop signal and its kill
// signal.
const ProgramGrace = 10

// stopGrace is how many seconds the end of a container may take before its engine
// kills it: the longest grace of a program, as much again for what no program
// claims, and 5 more.
func stopGrace(components map[string]config.Component) int {
	longest := ProgramGrace
	for _, c := range components {
		longest = max(longest, int(config.ParseDuration(c.StopGrace).Seconds()))
	}
	return 2*longest + 5
}
