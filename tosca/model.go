// Package tosca reads a TOSCA service template into the model of an application:
// containers, components, volumes and their protocols. It knows nothing of Docker,
// reports all problems with file, line and column, and starts no goroutine.
package tosca

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/protocol"
)

// Application is a validated and resolved topology: functions are evaluated, defaults
// applied, and names checked. It is made by Load and immutable. All slices are sorted by
// name unless a comment says otherwise, so that equal archives give equal models.
type Application struct {
	Name        string      `json:"name"`    // template_name in the metadata, or the entry file's base name
	Version     string      `json:"version"` // template_version, or empty
	Description string      `json:"description,omitempty"`
	Nodes       []Node      `json:"nodes"`
	Components  []Component `json:"components"`
	Volumes     []Volume    `json:"volumes"`
	Units       []Unit      `json:"units,omitempty"`
	Inputs      []Input     `json:"inputs,omitempty"` // of the topology
	Others      []Other     `json:"others,omitempty"` // of a draft: nodes that cannot be packaged, or not yet
}

// Unit is a deployment unit (a group of tosker.groups.DeploymentUnit). It has no effect
// here.
type Unit struct {
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

	// Job names the components that the container runs to their end without a manager.
	// Packaging sets it.
	Job []string `json:"job,omitempty"`
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
	Protocol  string `json:"protocol"` // tcp or udp
}

// Share is a bind mount of a host path.
type Share struct {
	Container string `json:"container"`
	Host      string `json:"host"`
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
	Task        *Task             `json:"task,omitempty"` // nil if it is not a Task
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

// Operation is an operation. Without a Script it only changes the state.
type Operation struct {
	Name    string           `json:"name"`
	Script  string           `json:"script,omitempty"`  // path in the archive, as in Artifact
	Files   []string         `json:"files,omitempty"`   // the script's dependencies: paths in the archive
	Timeout int              `json:"timeout,omitempty"` // seconds a run may take; 0 for no limit
	Inputs  []OperationInput `json:"inputs,omitempty"`
}

// OperationInput is an input of an operation. Its value is a value, the path of an
// artifact in the container, or Parts with such a path.
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

// Encode returns an application as indented JSON. It is deterministic.
func Encode(app *Application) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(app); err != nil {
		return nil, fmt.Errorf("cannot encode application %q: %w", app.Name, err)
	}
	return diag.VisibleJSON(b.Bytes()), nil
}
