// Package spec defines the application as it is run: plain data with its nodes, components,
// operations and volumes, their requirements, and how a manager and its units run them. A manager
// reads an Application; the unit of a container reads a Container. Neither depends on the source
// format: package tosca converts TOSCA documents to an Application, and package packager completes
// it from toskose.yml. The package does no input or output and starts no goroutine.
package spec

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/spec/protocol"
)

// Application is a resolved topology: every function is evaluated, every default filled in, every
// name checked. It is immutable. All slices are sorted by name unless a comment says otherwise, so
// that the same archive gives the same document.
type Application struct {
	Format      int         `json:"format"`         // FormatVersion; Encode sets it
	Goal        string      `json:"goal,omitempty"` // the goal while no client has set one: GoalUp; empty: none
	Name        string      `json:"name"`           // the metadata's template_name, else the entry file's base name
	Version     string      `json:"version"`        // template_version, or empty
	Description string      `json:"description,omitempty"`
	Nodes       []Node      `json:"nodes"`
	Components  []Component `json:"components"`
	Volumes     []Volume    `json:"volumes"`
	Groups      []Group     `json:"units,omitempty"`
	Inputs      []Input     `json:"inputs,omitempty"` // of the topology
	Others      []Other     `json:"others,omitempty"` // of a draft: nodes that cannot be packaged, or not yet
}

// Group is a set of nodes that its author deploys together (a group of
// tosker.groups.DeploymentUnit). Toskose does not use it otherwise.
type Group struct {
	Name    string   `json:"name"`
	Members []string `json:"members,omitempty"` // nodes, components and volumes, also of groups in it
}

// Other is a node template of another type, or a component that is on no container yet.
// Only drafts have them.
type Other struct {
	Name         string         `json:"name"`
	Type         string         `json:"type"`
	Host         string         `json:"host,omitempty"`         // its host
	Properties   map[string]any `json:"properties,omitempty"`   // with a value
	Requirements []Reach        `json:"requirements,omitempty"` // by name and target
}

// Reach is a requirement of an Other with a target.
type Reach struct {
	Name   string `json:"name"`
	Target string `json:"target"`
}

// Input is a topology input with its value.
type Input struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
	Value       any    `json:"value"`
	Secret      bool   `json:"secret,omitempty"` // given as a Secret
}

// Node is a container of the application (tosker.nodes.Container).
type Node struct {
	Name        string            `json:"name"`
	Type        string            `json:"type"`
	Image       Image             `json:"image"`
	Ports       []Port            `json:"ports,omitempty"`    // by container port
	Endpoint    int               `json:"endpoint,omitempty"` // the TCP port of its endpoint capability, or 0
	Env         map[string]string `json:"env,omitempty"`
	Command     string            `json:"command,omitempty"`
	Shares      []Share           `json:"shares,omitempty"`  // by container path
	Storage     []Storage         `json:"storage,omitempty"` // by volume
	Connections []string          `json:"connections,omitempty"`
	Depends     []string          `json:"depends,omitempty"`
	Named       []Requirement     `json:"named,omitempty"`
	Protocol    protocol.Protocol `json:"protocol"`

	// Attached is set for a node whose image is not toskosed: its components are the programs of its unit. The
	// document lists none of them under Components; the manager learns them from the unit.
	Attached *Attached `json:"attached,omitempty"`

	// Job are the components that the container runs to their end without the manager.
	// The document lists none of them under Components.
	Job []string `json:"job,omitempty"`

	// The following fields come from packaging.

	Alias          string `json:"alias,omitempty"`           // its name on the network; empty: Name
	MaxUnavailable int    `json:"max_unavailable,omitempty"` // how many replicas operations may make unavailable at the same time; 0: 1
	Unit           *Unit  `json:"unit,omitempty"`            // of each replica; nil: the node is standalone or a job
}

// Attached defines the requirements of the programs of an attached node.
type Attached struct {
	// Requires lists, by program, the nodes and the programs (as node/program) that must be available while it runs.
	Requires map[string][]string `json:"requires,omitempty"`
}

// Unit defines how a manager connects to the unit in each container of a node.
type Unit struct {
	Port   int    `json:"port"`             // of its API
	User   string `json:"user"`             // of its API; the password is a secret
	Digest string `json:"digest,omitempty"` // of its configuration, as the unit reports it; empty: not known, and not compared
}

// Requirement is a requirement with a name that protocols may use. Its target is also
// among the connections, dependencies, storage, or is the host.
type Requirement struct {
	Name   string `json:"name"`
	Class  string `json:"class"` // its meaning for TosKer: host, connection, dependency or storage
	Target string `json:"target"`
}

// ImageKind is the type of a container's artifact.
type ImageKind string

// The kinds of images (TosKer's artifact types, without their prefix).
const (
	ImageBase        ImageKind = "Image"              // a base for components
	ImageService     ImageKind = "Image.Service"      // runs its own program
	ImageFile        ImageKind = "Dockerfile"         // built from the archive
	ImageFileService ImageKind = "Dockerfile.Service" // built from the archive, runs its own program
)

// Image is the image of a container.
type Image struct {
	Kind ImageKind `json:"kind"`
	Name string    `json:"name"` // reference with registry, or the Dockerfile's path in the archive
}

// Port publishes a container port on the host. If Host is 0, it is not published.
type Port struct {
	Container int    `json:"container"`
	Host      int    `json:"host,omitempty"`
	Protocol  string `json:"protocol"`          // tcp or udp
	Address   string `json:"address,omitempty"` // IP address at which a single engine publishes it; empty: all
}

// Share is a bind mount of a host path.
type Share struct {
	Container string `json:"container"`
	Host      string `json:"host"`                // absolute
	ReadOnly  bool   `json:"read_only,omitempty"` // the container cannot write there
	Relabel   string `json:"relabel,omitempty"`   // z: an engine labels the files for SELinux as shared; Z: as this container's
}

// Storage attaches a volume at a path.
type Storage struct {
	Volume   string `json:"volume"`
	Location string `json:"location"`
}

// Volume is a volume of the application (tosker.nodes.Volume).
type Volume struct {
	Name     string            `json:"name"`
	Type     string            `json:"type"`
	Options  map[string]string `json:"options,omitempty"`
	Protocol protocol.Protocol `json:"protocol"`
}

// Component is a software component (tosker.nodes.Software).
type Component struct {
	Name        string            `json:"name"`
	Type        string            `json:"type"`
	Host        string            `json:"host"`                  // its direct host: a node or component
	Node        string            `json:"node"`                  // its container
	Connections []string          `json:"connections,omitempty"` // nodes or components that it connects to
	Depends     []string          `json:"depends,omitempty"`
	Named       []Requirement     `json:"named,omitempty"`
	Endpoint    int               `json:"endpoint,omitempty"` // the TCP port of its endpoint capability, or 0
	Artifacts   []Artifact        `json:"artifacts,omitempty"`
	Interfaces  []Interface       `json:"interfaces"`
	Protocol    protocol.Protocol `json:"protocol"`
	Task        *Task             `json:"task,omitempty"`   // nil: it does not finish
	Policy      *Policy           `json:"policy,omitempty"` // from packaging; nil: the defaults

	// Program is set if the component is a program of an attached node. The manager learns these components;
	// documents do not have them.
	Program *AttachedProgram `json:"-"`
}

// AttachedProgram is a program of an attached node, as its unit describes it. The unit implements the operations of its
// protocol.
type AttachedProgram struct {
	Name      string // in the unit: NAME or GROUP:NAME
	Autostart bool   // the unit starts it when the container starts
}

// Policy defines how a goal keeps a component in the desired state.
type Policy struct {
	Stable   Duration       `json:"stable,omitzero"`     // a start that ends sooner has failed; 0: 60 s
	MaxDelay Duration       `json:"max_delay,omitzero"`  // the longest delay before a retry; 0: 300 s
	Attempts map[string]int `json:"attempts,omitempty"`  // how often an operation is tried, by its full name; missing: start and stop without limit, others three times
	Live     []string       `json:"live,omitempty"`      // names of the requirements that are unmet while their targets fail liveness checks
	TakeDown []string       `json:"take_down,omitempty"` // names of the requirements whose loss stops the component; host and alive always do
}

// Duration is a time.Duration that is written as Go writes it, such as "1m30s".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as \"1m30s\"", text)
	}
	*d = Duration(parsed)
	return nil
}

// Task describes a component that finishes (toskose.nodes.Task). Its operation Task.run
// runs once for each index from 0 to Completions-1.
type Task struct {
	Completions  int    `json:"completions"`        // 1 to 32
	Parallelism  int    `json:"parallelism"`        // runs at a time, on all replicas together
	BackoffLimit int    `json:"backoff_limit"`      // retries of a failed index
	Deadline     int    `json:"deadline,omitempty"` // seconds from the first run on; 0 for none
	Rerun        string `json:"rerun"`              // RerunNever or RerunReplaced
	FailOn       []int  `json:"fail_on,omitempty"`  // exit codes without a retry, sorted
}

// The inputs of Task.run, in scripts INPUT_ and the name.
const (
	TaskIndex       = "TASK_INDEX"
	TaskCompletions = "TASK_COMPLETIONS"
)

// Values of Rerun: whether a Task runs again when its container is replaced.
const (
	RerunReplaced = "replaced" // it runs again
	RerunNever    = "never"    // it counts as done
)

// Artifact is a file of a component, at its path in the archive.
type Artifact struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
	Path string `json:"path"` // slash-separated, relative to the archive's root, and clean
}

// Interface is a set of operations of a component.
type Interface struct {
	Name       string      `json:"name"`
	Operations []Operation `json:"operations"`
}

// Operations iterates over the operations of all interfaces, in order.
func (c Component) Operations() iter.Seq2[protocol.Operation, Operation] {
	return func(yield func(protocol.Operation, Operation) bool) {
		for _, i := range c.Interfaces {
			for _, o := range i.Operations {
				if !yield(protocol.Operation{Interface: i.Name, Name: o.Name}, o) {
					return
				}
			}
		}
	}
}

// Unimplemented lists the operations of the component's protocol that have no script. A unit implements those of a
// program.
func (c Component) Unimplemented() []protocol.Operation {
	if c.Program != nil {
		return nil
	}
	scripts := map[protocol.Operation]bool{}
	for name, o := range c.Operations() {
		scripts[name] = o.Script != ""
	}
	var all []protocol.Operation
	for _, t := range c.Protocol.Transitions {
		if !scripts[t.Operation] && !slices.Contains(all, t.Operation) {
			all = append(all, t.Operation)
		}
	}
	return all
}

// Operation is an operation of a component; without a Script it only changes the state, unless the component is a
// program.
type Operation struct {
	Name    string           `json:"name"`
	Script  string           `json:"script,omitempty"`  // path in the archive, as in Artifact
	Files   []string         `json:"files,omitempty"`   // the script's dependencies: paths in the archive
	Timeout int              `json:"timeout,omitempty"` // seconds a run may take; 0 for no limit
	Inputs  []OperationInput `json:"inputs,omitempty"`
}

// OperationInput is an input of an operation. Its value is a string, the path of an artifact in
// the container, or Parts with such a path.
type OperationInput struct {
	Name      string      `json:"name"`
	Value     string      `json:"value,omitempty"`
	Artifact  string      `json:"artifact,omitempty"`   // path in the archive
	Owner     string      `json:"owner,omitempty"`      // the component of the artifact
	Parts     []InputPart `json:"parts,omitempty"`      // in order; only Name is set beside it
	FromInput string      `json:"from_input,omitempty"` // the topology input whose whole value it is
}

// InputPart is a part of an input's value: a text, or the path of an artifact.
type InputPart struct {
	Text     string `json:"text,omitempty"`
	Artifact string `json:"artifact,omitempty"`
	Owner    string `json:"owner,omitempty"`
}

// Resolve returns the input's value. pathOf returns the path in the container of an
// artifact, by its component and its path in the archive.
func (in OperationInput) Resolve(pathOf func(owner, artifact string) string) string {
	switch {
	case len(in.Parts) > 0:
		var b strings.Builder
		for _, p := range in.Parts {
			b.WriteString(p.Text)
			if p.Artifact != "" {
				b.WriteString(pathOf(p.Owner, p.Artifact))
			}
		}
		return b.String()
	case in.Artifact != "":
		return pathOf(in.Owner, in.Artifact)
	default:
		return in.Value
	}
}
