package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// builder collects groups from all kinds of sections.
type builder struct {
	groups map[string]*Group
	from   map[string]*section // the first section of each
}

// groups reads [group:x] sections, then the programs that are in none of them.
func (p *parser) groups() {
	b := &builder{groups: map[string]*Group{}, from: map[string]*section{}}
	grouped := map[string]bool{}
	for _, sec := range p.doc.all() {
		if name, ok := strings.CutPrefix(sec.name, "group:"); ok {
			p.group(b, sec, strings.TrimSpace(name), grouped)
		}
	}
	for _, sec := range p.doc.all() {
		name, ok := programSection(sec)
		if !ok || grouped[sec.name] {
			continue
		}
		p.ungrouped(b, sec, strings.TrimSpace(name))
	}
	for _, name := range slices.Sorted(maps.Keys(b.groups)) {
		p.config.Groups = append(p.config.Groups, *b.groups[name])
	}
	p.unique(b)
}

func (p *parser) group(b *builder, sec *section, name string, grouped map[string]bool) {
	s := p.scope(sec)
	if why := checkName(name); why != "" {
		s.problem("", "has a name that %s", why)
	}
	g := &Group{Name: name, Priority: s.number("priority", 999, -maxCount, maxCount)}
	members := s.list("programs")
	if _, set := s.written("programs"); !set {
		s.problem("programs", "lacks programs")
	}
	s.finish()
	seen := map[string]bool{}
	for _, member := range members {
		program, fcgi := p.doc.sections["program:"+member], p.doc.sections[fcgiPrefix+member]
		switch {
		case seen[member]:
			s.problem("programs", "programs names %q twice", member)
		case program != nil && fcgi != nil:
			s.problem("programs", "programs names %q, which is a [program:%s] and an [fcgi-program:%s]", member, member, member)
		case program != nil || fcgi != nil:
			if program == nil {
				program = fcgi
			}
			grouped[program.name], seen[member] = true, true
			g.Programs = append(g.Programs, p.programs(program, strings.TrimSpace(member), name)...)
		default:
			s.problem("programs", "programs names %q, but there is no [program:%s]", member, member)
		}
	}
	b.groups[name], b.from[name] = g, sec
}

// ungrouped puts a program into the group of its component, or into a group of its
// own with the program's priority.
func (p *parser) ungrouped(b *builder, sec *section, name string) {
	programs := p.programs(sec, name, "")
	group := p.implicitGroup(sec, name)
	g, ok := b.groups[group]
	_, ofComponent := sec.keys["toskose_component"]
	switch {
	case !ok && ofComponent:
		g = &Group{Name: group, Priority: 999}
	case !ok:
		g = &Group{Name: group, Priority: p.scope(sec).number("priority", 999, -maxCount, maxCount)}
	case !ofComponent:
		p.report.problem(sec.file, sec.line, "[%s] defines the group %q, and so does [%s]", sec.name, group, b.from[group].name)
		return
	}
	g.Programs = append(g.Programs, programs...)
	b.groups[group] = g
	if b.from[group] == nil {
		b.from[group] = sec
	}
}

// unique reports processes with the same name.
func (p *parser) unique(b *builder) {
	for _, g := range p.config.Groups {
		seen := map[string]string{}
		for _, program := range g.Programs {
			first, ok := seen[program.Name]
			seen[program.Name] = program.Section
			if ok && first != program.Section {
				sec := p.sectionOf(&program)
				p.report.problem(sec.file, sec.line, "[%s] defines the process %s:%s, and so does [program:%s]", sec.name, g.Name, program.Name, first)
			} else if ok {
				sec := p.sectionOf(&program)
				p.report.problem(sec.file, sec.line, "[%s] defines several processes %s:%s", sec.name, g.Name, program.Name)
			}
		}
	}
	for _, l := range p.config.Listeners {
		if sec, ok := b.from[l.Name]; ok {
			p.report.problem(sec.file, sec.line, "[%s] defines the group %q, and so does [eventlistener:%s]", sec.name, l.Name, l.Name)
		}
	}
}

// eventTypes are Supervisor's (Supervisor manual, "Event Types").
var eventTypes = []string{
	"EVENT",
	"PROCESS_COMMUNICATION", "PROCESS_COMMUNICATION_STDERR", "PROCESS_COMMUNICATION_STDOUT",
	"PROCESS_GROUP", "PROCESS_GROUP_ADDED", "PROCESS_GROUP_REMOVED",
	"PROCESS_LOG", "PROCESS_LOG_STDERR", "PROCESS_LOG_STDOUT",
	"PROCESS_STATE", "PROCESS_STATE_BACKOFF", "PROCESS_STATE_EXITED", "PROCESS_STATE_FATAL",
	"PROCESS_STATE_RUNNING", "PROCESS_STATE_STARTING", "PROCESS_STATE_STOPPED",
	"PROCESS_STATE_STOPPING", "PROCESS_STATE_UNKNOWN",
	"REMOTE_COMMUNICATION",
	"SUPERVISOR_STATE_CHANGE", "SUPERVISOR_STATE_CHANGE_RUNNING", "SUPERVISOR_STATE_CHANGE_STOPPING",
	"TICK", "TICK_3600", "TICK_5", "TICK_60",
}

// defaultResultHandler is Supervisor's, whose rules are built in.
const defaultResultHandler = "supervisor.dispatchers:default_handler"

// Relays reports whether the listener's results are for a custom function, which is assumed to
// print them.
func (l *Listener) Relays() bool { return l.ResultHandler != defaultResultHandler }

func (p *parser) listener(sec *section, name string) {
	s := p.scope(sec)
	name = strings.TrimSpace(name)
	l := Listener{
		Group:         Group{Name: name, Priority: s.number("priority", -1, -maxCount, maxCount)},
		BufferSize:    s.number("buffer_size", 10, 1, maxCount),
		ResultHandler: s.textOr("result_handler", defaultResultHandler),
	}
	if l.Relays() {
		s.warn("result_handler", "result_handler=%s is not loaded; any result accepts an event and is copied to the container's output", l.ResultHandler)
	}
	for _, event := range s.list("events") {
		event = strings.ToUpper(event)
		if !slices.Contains(eventTypes, event) {
			s.problem("events", "events names %q, which is not an event type", event)
		}
		l.Events = append(l.Events, event)
	}
	if _, set := s.written("events"); !set || len(l.Events) == 0 {
		s.problem("events", "lacks events")
	}
	slices.Sort(l.Events)
	l.Events = slices.Compact(l.Events)
	if s.boolean("redirect_stderr", false) {
		s.problem("redirect_stderr", "redirect_stderr=true would disturb the event listener protocol")
	}
	l.Programs = p.programs(sec, name, name, "events", "buffer_size", "result_handler")
	if _, set := s.written("toskose_operation"); set {
		s.problem("toskose_operation", "is an event listener, which cannot be an operation")
	}
	p.config.Listeners = append(p.config.Listeners, l)
}

// order sorts programs, groups and listeners, which are in file order until then.
func (p *parser) order() {
	c := p.config
	byPriority := func(programs []Program) {
		slices.SortStableFunc(programs, func(a, b Program) int {
			return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
		})
	}
	for i := range c.Groups {
		byPriority(c.Groups[i].Programs)
	}
	for i := range c.Listeners {
		byPriority(c.Listeners[i].Programs)
	}
	slices.SortStableFunc(c.Groups, compareGroups)
	slices.SortStableFunc(c.Listeners, func(a, b Listener) int { return compareGroups(a.Group, b.Group) })
	slices.SortStableFunc(c.Inet, func(a, b InetServer) int { return cmp.Compare(a.Section, b.Section) })
	slices.SortStableFunc(c.Unix, func(a, b UnixServer) int { return cmp.Compare(a.Section, b.Section) })
	slices.SortStableFunc(c.RPC, func(a, b RPCInterface) int { return cmp.Compare(a.Name, b.Name) })
}

// compareGroups orders groups as they start: by priority, then by name.
func compareGroups(a, b Group) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
}
