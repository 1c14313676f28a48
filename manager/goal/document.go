package goal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// MaxDocument is the maximum size in bytes of a document that a unit stores.
const MaxDocument = 64 << 10

// The generic state names, which mean a different state in each protocol.
const (
	Up   = "up"   // the usable state
	Down = "down" // deleted, or its protocol's initial state
	None = "none" // not reconciled
)

// Document is a goal as the units store it.
type Document struct {
	Revision wire.Revision     `json:"revision"`
	Asked    wire.Revision     `json:"asked"`        // the revision that a person set; adding holds does not change it
	By       string            `json:"by,omitempty"` // the user who set it
	At       time.Time         `json:"at,omitzero"`
	All      string            `json:"all,omitempty"`    // the state of components that States does not name
	States   map[string]string `json:"states,omitempty"` // by component, container or group
	Holds    map[string]Hold   `json:"holds,omitempty"`  // by component
	// Resumed are the last operations by which people returned components to their targets, which ended their holds,
	// since a person set the goal.
	Resumed map[string]Hold `json:"resumed,omitempty"`
	// Tasks are the records of tasks that were requested again, or whose containers need not be queried.
	Tasks map[string]Record `json:"tasks,omitempty"`
	// Leases are the clients' leases that keep components on hold, by id.
	Leases map[string]Lease `json:"leases,omitempty"`
	// HoldsAfter is when the last lease ended. Operations before that put nothing on hold.
	HoldsAfter time.Time `json:"holds_after,omitzero"`

	Unknown Unknown `json:"-"` // fields of newer managers
}

// Hold is the operation by which a person moved a component away from its target, or back to it: while on hold,
// the component is not reconciled.
type Hold struct {
	By        string    `json:"by,omitempty"`
	At        time.Time `json:"at,omitzero"`
	Operation string    `json:"operation,omitempty"` // the requested operation
	State     string    `json:"state,omitempty"`     // the state after it
	Lease     string    `json:"lease,omitempty"`     // the lease with which it ends

	Unknown Unknown `json:"-"` // fields of newer managers
}

// SameGoal reports whether both documents request the same states.
func (d *Document) SameGoal(other *Document) bool {
	return d.All == other.All && maps.Equal(d.States, other.States)
}

// Held returns a copy of the document with more holds, and without ended ones.
func (d *Document) Held(more, ended map[string]Hold) *Document {
	next := *d
	next.Holds, next.Resumed = joined(d.Holds, more), joined(d.Resumed, ended)
	maps.DeleteFunc(next.Holds, func(name string, _ Hold) bool { return contains(ended, name) })
	maps.DeleteFunc(next.Resumed, func(name string, _ Hold) bool { return contains(more, name) })
	return &next
}

// Recorded returns a copy of the document with other task records.
func (d *Document) Recorded(records map[string]Record) *Document {
	next := *d
	next.Tasks = recorded(d.Tasks, records)
	return &next
}

func recorded(before, records map[string]Record) map[string]Record {
	all := map[string]Record{}
	maps.Copy(all, before)
	maps.Copy(all, records)
	return all
}

// joined returns a new map with the entries of both.
func joined(a, b map[string]Hold) map[string]Hold {
	both := map[string]Hold{}
	maps.Copy(both, a)
	maps.Copy(both, b)
	return both
}

func contains(all map[string]Hold, name string) bool {
	_, is := all[name]
	return is
}

// idPrefix is the prefix of the ids of all executions that a goal requests.
const idPrefix = "goal-"

// Ours reports whether a goal requested an execution.
func Ours(id string) bool { return strings.HasPrefix(id, idPrefix) }

// asked reports whether this document requested an execution.
func (d *Document) asked(id string) bool { return strings.HasPrefix(id, d.idPrefix()) }

// idPrefix is the prefix of the ids of the executions that this document requests.
func (d *Document) idPrefix() string {
	return fmt.Sprintf("%s%d-%s-", idPrefix, d.Asked.Counter, d.Asked.ID)
}

// executionID returns the id of an operation of a component whose last entry is after: managers that have seen the
// same entries request the same execution.
func (d *Document) executionID(r *Replica, component string, op protocol.Operation, after uint64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", r.Instance, component, op, after))
	return d.idPrefix() + hex.EncodeToString(sum[:8])
}

// indexID is executionID for an index of a Task.
func (d *Document) indexID(r *Replica, task string, after uint64, p *wire.Part) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d\x00%d\x00%d", r.Instance, task, protocol.TaskRun, after, p.Round, p.Index))
	return d.idPrefix() + hex.EncodeToString(sum[:8])
}

// ParseDocument parses a document. A newer manager may have written it: unknown fields are preserved.
func ParseDocument(text []byte) (*Document, error) {
	if len(text) > MaxDocument {
		return nil, fmt.Errorf("a goal has at most %d bytes, and this has %d", MaxDocument, len(text))
	}
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("cannot read the goal: %w", err)
	}
	if d.Revision.ID == "" {
		return nil, errors.New("cannot read the goal: it has no revision")
	}
	return &d, nil
}
