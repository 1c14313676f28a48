package goal

import (
	"maps"
	"slices"
	"time"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// Policy is how a component is kept in its desired state.
type Policy struct {
	// Stable is how long a start must last to count as successful. 0: 60 s.
	Stable time.Duration
	// MaxDelay is the longest backoff between attempts. 0: 300 s.
	MaxDelay time.Duration
	// Attempts is how often an operation may be attempted. If missing, start and stop have no limit, and other
	// operations have three attempts.
	Attempts map[protocol.Operation]int
	// TakeDown are the requirements, in addition to host and alive, without which the component must be stopped.
	TakeDown []string
}

const (
	defaultStable   = 60 * time.Second
	defaultMaxDelay = 300 * time.Second
	defaultAttempts = 3
)

func (p Policy) stable() time.Duration { return orDefault(p.Stable, defaultStable) }

func (p Policy) maxDelay() time.Duration { return orDefault(p.MaxDelay, defaultMaxDelay) }

// attempts returns how often an operation may be attempted; 0: without limit.
func (p Policy) attempts(o protocol.Operation, kind protocol.Kind) int {
	if n := p.Attempts[o]; n > 0 {
		return n
	}
	if kind == protocol.KindRun {
		return defaultAttempts
	}
	return 0
}

// takesDown reports whether a component must leave a state when this requirement of the state is unmet.
func (p Policy) takesDown(requirement string) bool {
	return requirement == protocol.Host || requirement == protocol.Alive || slices.Contains(p.TakeDown, requirement)
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// Model is the static description of an application.
type Model struct {
	Elements []plan.Element      // containers, components and volumes
	Node     map[string]string   // the container of each component
	Groups   map[string][]string // members: components, containers, volumes
	Policies map[string]Policy   // by component; may be incomplete
	Tasks    map[string]Task     // components that run to completion
	Jobs     map[string]string   // the containers of components that the orchestrator runs; they are not in Elements
	// Programs are the components that are programs of attached containers. A replica may be without them.
	Programs map[string]Program
	// MaxUnavailable is the maximum number of replicas that operations may make unavailable at the same time, by
	// container. Missing: 1.
	MaxUnavailable map[string]int

	index   map[string]*plan.Element
	hosted  map[string][]string // components by container, sorted
	up      map[string]string   // by element
	down    map[string]string
	runs    map[string]string // the state of a container that runs
	notes   []string
	usedBy  map[string][]use // by provider
	mounted map[string][]string
}

// use is a binding from the provider's point of view.
type use struct {
	by *plan.Element
	plan.Binding
}

// NewModel derives a model's indexes from its exported fields.
func NewModel(m Model) *Model {
	m.index, m.hosted, m.usedBy = map[string]*plan.Element{}, map[string][]string{}, map[string][]use{}
	m.mounted, m.runs = map[string][]string{}, map[string]string{}
	for i := range m.Elements {
		e := &m.Elements[i]
		m.index[e.Name] = e
		if node, ok := m.Node[e.Name]; ok {
			m.hosted[node] = append(m.hosted[node], e.Name)
		} else if state, ok := e.Protocol.Up(nil); ok {
			m.runs[e.Name] = state
		}
		for _, b := range e.Bindings {
			m.usedBy[b.Target] = append(m.usedBy[b.Target], use{e, b})
			if b.Requirement == protocol.Storage {
				m.mounted[b.Target] = append(m.mounted[b.Target], e.Name)
			}
		}
	}
	for _, names := range m.hosted {
		slices.Sort(names)
	}
	m.up, m.notes = plan.Up(m.Elements, nil)
	m.down = plan.Down(m.Elements)
	return &m
}

// components returns the names of all components, sorted.
func (m *Model) components() []string { return slices.Sorted(maps.Keys(m.Node)) }

func (m *Model) implemented(component string) func(protocol.Operation) bool {
	e := m.index[component]
	return func(o protocol.Operation) bool { return !slices.Contains(e.Unimplemented, o) }
}

// Users returns the components that require something of a component, a container
// or a volume, in the order of the elements.
func (m *Model) Users(provider string) []string {
	var all []string
	for _, u := range m.usedBy[provider] {
		if m.Node[u.by.Name] != "" && !slices.Contains(all, u.by.Name) {
			all = append(all, u.by.Name)
		}
	}
	return all
}

// Providers returns, sorted, the containers on which the components of a container depend: hosts of required
// components, containers that mount required volumes, and directly required containers.
func (m *Model) Providers(node string) []string {
	var all []string
	for _, name := range m.hosted[node] {
		for _, b := range m.index[name].Bindings {
			switch on, isComponent := m.Node[b.Target]; {
			case isComponent:
				all = append(all, on)
			case m.mounted[b.Target] != nil: // a volume exists while a container that mounts it runs
				all = append(all, m.mounted[b.Target]...)
			default:
				all = append(all, b.Target)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Requires returns a component's requirements in a state; nil for a state that its protocol does not have. offers
// returns its capabilities likewise.
func (m *Model) Requires(component, state string) []string {
	s, _ := m.index[component].Protocol.State(state)
	return s.Requires
}

func (m *Model) offers(component, state string) []string {
	s, _ := m.index[component].Protocol.State(state)
	return s.Offers
}
