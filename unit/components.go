package unit

import (
	"context"
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/component"
	"github.com/toskose/toskose/unit/wire"
)

// Reports has the states of components, the journal, and the documents of the manager.
type Reports struct {
	*core
	labels    map[string]string // describe where the container runs
	documents *documentStore
}

// JournalPage is a page of the journal.
type JournalPage = component.JournalPage

// Now is the cursor of a new reader: the first entry is a hello with all states.
const Now = "now"

// Journal returns the entries after a cursor; see component.Set.Journal.
func (u *Reports) Journal(ctx context.Context, after string, wait time.Duration) (JournalPage, error) {
	if after == Now {
		hello, err := u.components.Hello(u.Identity())
		return JournalPage{Instance: hello.Instance, Entries: []wire.Entry{hello}}, err
	}
	return u.components.Journal(ctx, after, wait)
}

// Identity returns the identity of the unit and its journal.
func (u *Reports) Identity() wire.Identity {
	digest, _ := u.digest.Load().(string)
	return wire.Identity{
		Documents: u.documents.revisions(u.components),
		Instance:  u.components.Instance(), Seq: u.components.Seq(), Booted: u.booted, Labels: u.labels, Digest: digest,
		Programs: u.components.Programs(),
	}
}

// Components returns the states of all components and, on request, their processes, which requires
// reading all of /proc.
func (u *Reports) Components(processes bool) (wire.Snapshot, error) {
	snapshot := wire.Snapshot{Identity: u.Identity()}
	var of map[string][]wire.Process
	if processes {
		var err error
		if of, snapshot.Unclaimed, err = u.processes(); err != nil {
			return wire.Snapshot{}, err
		}
	}
	snapshot.Seq, snapshot.Components = u.components.Components()
	for i := range snapshot.Components {
		c := &snapshot.Components[i]
		if c.Processes = of[c.Name]; c.Processes == nil && processes {
			c.Processes = []wire.Process{}
		}
	}
	return snapshot, nil
}

// processes returns the processes of each component, and the unclaimed ones.
func (u *Reports) processes() (of map[string][]wire.Process, unclaimed []wire.Process, err error) {
	found, err := u.programs.Processes()
	if err != nil {
		return nil, nil, err
	}
	of, unclaimed = map[string][]wire.Process{}, []wire.Process{}
	for _, p := range found {
		seen := wire.Process{
			PID: p.PID, Parent: p.Parent, Command: p.Command,
			CPU: p.CPU.Seconds(), Memory: p.Memory, Zombie: p.Zombie,
		}
		owner := u.programs.Owner(p.Program)
		if owner == nil {
			unclaimed = append(unclaimed, seen)
			continue
		}
		name, operation := owner.Config().Component, owner.Config().Operation
		if name == "" && u.joined {
			name, operation = owner.Namespec(), protocol.ProgramStart
		}
		if !u.components.Hosts(name) {
			seen.Operation = owner.Name() // of an ordinary program, or one that a reload removed
			unclaimed = append(unclaimed, seen)
			continue
		}
		seen.Operation = operation.String()
		of[name] = append(of[name], seen)
	}
	return of, unclaimed, nil
}
