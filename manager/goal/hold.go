package goal

import "github.com/toskose/toskose/tosca/protocol"

// holds returns the components that somebody led away from their targets since
// the goal was set: by an operation that is not the goal's, or by stopping the
// processes of a start.
func (m *Model) holds(d *Document, s Situation, targets map[string]string) map[string]Hold {
	all := map[string]Hold{}
	for i := range s.Replicas {
		r := &s.Replicas[i]
		if r.Problem != "" {
			continue
		}
		for _, name := range m.hosted[r.Node] {
			target, c := targets[name], r.Components[name]
			if target == "" || c.Executing != nil || len(c.Runs) == 0 {
				continue
			}
			last := c.Runs[len(c.Runs)-1]
			hold := Hold{By: last.By, At: last.Ended, Operation: last.Operation.String(), State: c.State}
			from, since := last.From, last.Started
			switch stopped := last.Stopped && m.index[name].Protocol.KindOf(last.Operation) == protocol.KindStart; {
			case stopped:
				hold.By, hold.At, hold.Operation = "", last.Gone, "the end of its processes"
				from, since = last.To, last.Gone
			case Ours(last.ID) || last.Failed:
				continue
			}
			away := m.distance(name, c.State, target)
			if since.After(d.At) && away > 0 && away > m.distance(name, from, target) {
				all[name] = hold
			}
		}
	}
	return all
}

const unreachable = 1 << 20

// distance is how many operations lead from a state to another.
func (m *Model) distance(component, from, to string) int {
	w, ok := m.search(component, from, false, func(state string) bool { return state == to })
	if !ok {
		return unreachable
	}
	return w.steps
}
