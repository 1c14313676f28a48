package protocol

import "slices"

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

// Offering gives the capability that fulfils a requirement: connection is
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
	Standard   = "Standard"
)

func standard(source, operation, target string, requires ...string) Transition {
	return Transition{Source: source, Target: target, Interface: Standard, Operation: operation, Requires: requires}
}

// Software is the protocol of a component that has no policy: deleted, created,
// configured, running. Every transition requires the host.
func Software() Protocol {
	alive := []string{Alive}
	return Protocol{
		Initial: Deleted,
		States: []State{
			{Name: Configured, Requires: alive, Offers: slices.Clone(alive)},
			{Name: Created, Requires: slices.Clone(alive), Offers: slices.Clone(alive)},
			{Name: Deleted},
			{
				Name:     Running,
				Requires: []string{Alive, Connection, Dependency, Host},
				Offers:   []string{Alive, Endpoint, Feature, Host},
			},
		},
		Transitions: []Transition{
			standard(Deleted, "create", Created, Host),
			standard(Created, "configure", Configured, Host),
			standard(Configured, "start", Running, Host),
			standard(Running, "stop", Configured, Host),
			standard(Configured, "delete", Deleted, Host),
			standard(Created, "delete", Deleted, Host),
		},
	}
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
