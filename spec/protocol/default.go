package protocol

import (
	"slices"
	"strings"
)

// The names that TosKer's types give requirements and capabilities, and the
// one that runs along host: a component is alive only while its host is.
const (
	Host       = "host"
	Connection = "connection"
	Dependency = "dependency"
	Storage    = "storage"
	Endpoint   = "endpoint"
	Feature    = "feature"
	Attachment = "attachment"
	Alive      = "alive"
)

// Offering returns the capability that fulfils a requirement: connection is
// fulfilled by endpoint, dependency by feature, storage by attachment; host
// and alive, and names of the author's own, by themselves.
func Offering(requirement string) string {
	switch requirement {
	case Connection:
		return Endpoint
	case Dependency:
		return Feature
	case Storage:
		return Attachment
	default:
		return requirement
	}
}

// The states and the interface of the default protocols.
const (
	Deleted    = "deleted"
	Created    = "created"
	Configured = "configured"
	Running    = "running"
	Completed  = "completed"
	Stopped    = "stopped"
	Standard   = "Standard"
)

// TaskRun is the operation of a Task that is run for each of its indexes.
var TaskRun = Operation{Interface: "Task", Name: "run"}

func standard(source, operation, target string) Transition {
	return Transition{Source: source, Target: target, Operation: Operation{Standard, operation}}
}

// Hosted returns a component's protocol with TosKer's additions: every transition requires the
// host, and every state except the initial one requires and offers alive.
func (p Protocol) Hosted() Protocol {
	p.States, p.Transitions = slices.Clone(p.States), slices.Clone(p.Transitions)
	for i := range p.States {
		if s := &p.States[i]; s.Name != p.Initial {
			s.Requires, s.Offers = with(s.Requires, Alive), with(s.Offers, Alive)
		}
	}
	for i := range p.Transitions {
		p.Transitions[i].Requires = with(p.Transitions[i].Requires, Host)
	}
	return p
}

// WithFree returns a component's protocol with an operation that no transition
// names: it may run in every state but the initial one, and requires the host.
func (p Protocol) WithFree(o Operation) Protocol {
	f := Free{Operation: o, Requires: []string{Host}}
	for _, name := range p.StateNames() {
		if name != p.Initial {
			f.States = append(f.States, name)
		}
	}
	at, _ := slices.BinarySearchFunc(p.Free, o, func(a Free, b Operation) int { return strings.Compare(a.String(), b.String()) })
	p.Free = slices.Insert(slices.Clone(p.Free), at, f)
	return p
}

// Hosting returns a container's protocol with alive added to every state that offers host, as in
// the default protocol: hosted components require both.
func (p Protocol) Hosting() Protocol {
	p.States = slices.Clone(p.States)
	for i := range p.States {
		if s := &p.States[i]; slices.Contains(s.Offers, Host) {
			s.Offers = with(s.Offers, Alive)
		}
	}
	return p
}

// with returns sorted names with one more, without changing its argument.
func with(names []string, name string) []string {
	at, has := slices.BinarySearch(names, name)
	if has {
		return names
	}
	return slices.Insert(slices.Clone(names), at, name)
}

// Software is the protocol of a component that has no policy: deleted, created,
// configured, running.
func Software() Protocol {
	return Protocol{
		Initial: Deleted,
		States: []State{
			{Name: Configured},
			{Name: Created},
			{Name: Deleted},
			{
				Name:     Running,
				Requires: []string{Connection, Dependency, Host},
				Offers:   []string{Endpoint, Feature, Host},
			},
		},
		Transitions: []Transition{
			standard(Deleted, "create", Created),
			standard(Created, "configure", Configured),
			standard(Configured, "start", Running),
			standard(Running, "stop", Configured),
			standard(Configured, "delete", Deleted),
			standard(Created, "delete", Deleted),
		},
	}.Hosted()
}

// The operations of a program that a unit runs as its configuration says, without a script.
var (
	ProgramStart   = Operation{Interface: "Program", Name: "start"}
	ProgramStop    = Operation{Interface: "Program", Name: "stop"}
	ProgramRestart = Operation{Interface: "Program", Name: "restart"}
)

// Program is the protocol of a program in an attached container: stopped, running. The settings of
// the program, such as autorestart, stay in force.
func Program() Protocol {
	return Protocol{
		Initial: Stopped,
		States: []State{
			{Name: Running, Requires: []string{Connection, Dependency, Host}, Offers: []string{Endpoint, Feature}},
			{Name: Stopped},
		},
		Transitions: []Transition{
			{Source: Stopped, Target: Running, Operation: ProgramStart},
			{Source: Running, Target: Stopped, Operation: ProgramStop},
			{Source: Running, Target: Running, Operation: ProgramRestart},
		},
	}.Hosted()
}

// Task is the protocol of a Task that has no policy: deleted, created, configured,
// completed. What is completed may be run again.
func Task() Protocol {
	return Protocol{
		Initial: Deleted,
		States: []State{
			{Name: Completed, Offers: []string{Feature}},
			{Name: Configured},
			{Name: Created},
			{Name: Deleted},
		},
		Transitions: []Transition{
			standard(Deleted, "create", Created),
			standard(Created, "configure", Configured),
			{Source: Configured, Target: Completed, Operation: TaskRun, Requires: []string{Connection, Dependency}},
			{Source: Completed, Target: Completed, Operation: TaskRun, Requires: []string{Connection, Dependency}},
			standard(Completed, "delete", Deleted),
			standard(Configured, "delete", Deleted),
			standard(Created, "delete", Deleted),
		},
	}.Hosted()
}

// Container is the protocol of a container: deleted, created, running. It
// hosts, and is alive, while it runs.
func Container() Protocol {
	return Protocol{
		Initial: Deleted,
		States: []State{
			{Name: Created, Requires: []string{Storage}},
			{Name: Deleted},
			{
				Name:     Running,
				Requires: []string{Connection, Dependency, Storage},
				Offers:   []string{Alive, Endpoint, Feature, Host},
			},
		},
		Transitions: []Transition{
			standard(Deleted, "create", Created),
			standard(Created, "start", Running),
			standard(Running, "stop", Created),
			standard(Created, "delete", Deleted),
		},
	}
}

// Volume is the protocol of a volume: deleted, created.
func Volume() Protocol {
	return Protocol{
		Initial: Deleted,
		States: []State{
			{Name: Created, Offers: []string{Attachment, Feature}},
			{Name: Deleted},
		},
		Transitions: []Transition{
			standard(Deleted, "create", Created),
			standard(Created, "delete", Deleted),
		},
	}
}
