package goal

import "github.com/toskose/toskose/spec/protocol"

// holds returns the components that people moved away from their targets since the goal was set: by an operation
// that the goal did not request, or by stopping the processes of a start.
func (m *Model) holds(d *Document, s Situation, targets map[string]string) map[string]Hold {
	var all map[string]Hold
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
			case Ours(last.ID) || last.Failed || last.External: // programs with autostart start with their container
				continue
			}
			distance := m.distance(name, c.State, target)
			if since.After(d.holdsAfter()) && distance > m.distance(name, from, target) {
				all = joined(all, map[string]Hold{name: hold})
			}
		}
	}
	return all
}

// resumed returns the holds that have ended, with the operation that ended them: all replicas of the component are
// at their target again, the last one by a person's operation.
func (m *Model) resumed(d *Document, s Situation) map[string]Hold {
	var all map[string]Hold
	if len(d.Holds) == 0 {
		return all
	}
	free := *d
	free.Holds = nil
	targets, _ := m.Targets(&free)
	for name, hold := range d.Holds {
		if back, ended := m.back(s, name, targets[name], hold); ended {
			all = joined(all, map[string]Hold{name: back})
		}
	}
	return all
}

// back returns the last operation by which a person returned a component to its target since its hold began; false
// if there is none, or an
// operable replica is not at the target.
func (m *Model) back(s Situation, name, target string, since Hold) (last Hold, ok bool) {
	for _, i := range s.of(m.Node[name]) {
		r := &s.Replicas[i]
		c := r.Components[name]
		if r.Problem != "" {
			continue
		}
		if c.State != target || c.Executing != nil {
			return Hold{}, false
		}
		if len(c.Runs) == 0 {
			continue
		}
		run := c.Runs[len(c.Runs)-1]
		if !Ours(run.ID) && !run.Failed && run.To == target && run.Ended.After(since.At) && run.Ended.After(last.At) {
			last, ok = Hold{By: run.By, At: run.Ended, Operation: run.Operation.String(), State: target}, true
		}
	}
	return last, ok
}

const unreachable = 1 << 20

// distance returns how many operations lead from one state to another.
func (m *Model) distance(component, from, to string) int {
	w, ok := m.search(component, from, false, func(state string) bool { return state == to })
	if !ok {
		return unreachable
	}
	return w.steps
}
