package rest

import (
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/unit/wire"
)

// GoalRequest is a request to set a goal, or to plan for it.
type GoalRequest struct {
	State  string            `json:"state,omitempty"`  // of all components; empty: see States
	States map[string]string `json:"states,omitempty"` // by component, container or group

	Merge bool   `json:"-"` // add to the current goal instead of replacing it
	By    string `json:"-"` // the user, set by the manager
}

// Goal is the goal, its progress and its obstacles.
type Goal struct {
	State     string                 `json:"state,omitempty"`  // requested for all components
	States    map[string]string      `json:"states,omitempty"` // by component, container or group
	Revision  string                 `json:"revision,omitempty"`
	Asked     string                 `json:"asked,omitempty"` // the revision that a person set, before holds were added
	By        string                 `json:"by,omitempty"`
	At        time.Time              `json:"at,omitzero"`
	Default   bool                   `json:"default,omitempty"`  // the default goal of toskose.yml
	Holds     map[string]goal.Hold   `json:"holds,omitempty"`    // components on hold
	Resumed   map[string]goal.Hold   `json:"resumed,omitempty"`  // holds that ended because people returned the components to their targets
	Tasks     map[string]goal.Record `json:"tasks,omitempty"`    // the stored state of tasks
	Acting    bool                   `json:"acting"`             // false: not enough replicas have reported their stored goals
	Lacking   []string               `json:"lacking,omitempty"`  // replicas that do not store it yet
	Rejected  []RejectedGoal         `json:"rejected,omitempty"` // replicas that store an ignored one
	Done      bool                   `json:"done"`
	Reached   int                    `json:"reached"` // components on replicas that are in the desired state
	Wanted    int                    `json:"wanted"`  // all components on replicas that the goal names
	Underway  []goal.Step            `json:"underway,omitempty"`
	Ahead     []goal.Ahead           `json:"ahead,omitempty"` // the later steps of the plan
	Obstacles []goal.Obstacle        `json:"obstacles,omitempty"`
	Notes     []string               `json:"notes,omitempty"`
	Stuck     bool                   `json:"stuck,omitempty"`    // it is not reached, and nothing is tried again without a person
	Settling  []string               `json:"settling,omitempty"` // components in the desired state that started too recently to count as stable

	Unconfirmed bool `json:"-"` // the known states reach the goal, but units have not confirmed them
}

// None reports whether the goal is empty.
func (g Goal) None() bool {
	return (g.State == "" || g.State == goal.None) && len(g.States) == 0 && !g.Default
}

// RejectedGoal is a goal that a replica stores and the manager ignores: anyone with the unit's password can store one,
// but cannot sign it.
type RejectedGoal struct {
	Node     string `json:"node"`
	Replica  string `json:"replica"`
	Revision string `json:"revision"`
	Why      string `json:"why"`
}

// SavedGoal is the part of an earlier Goal with which a manager restores it.
type SavedGoal struct {
	State    string                 `json:"state,omitempty"`
	States   map[string]string      `json:"states,omitempty"`
	Revision wire.Revision          `json:"revision"`
	Asked    wire.Revision          `json:"asked,omitzero"`
	By       string                 `json:"by,omitempty"`
	At       time.Time              `json:"at,omitzero"`
	Holds    map[string]goal.Hold   `json:"holds,omitempty"`
	Tasks    map[string]goal.Record `json:"tasks,omitempty"`
}

// Saved returns the part of a goal that SavedGoal has.
func (g Goal) Saved() (SavedGoal, error) {
	saved := SavedGoal{State: g.State, States: g.States, By: g.By, At: g.At, Holds: g.Holds, Tasks: g.Tasks}
	if err := saved.Revision.UnmarshalText([]byte(g.Revision)); err != nil {
		return saved, err
	}
	return saved, saved.Asked.UnmarshalText([]byte(g.Asked))
}

// Plan is the plan for a goal. Replicas of a node in the same state share one element; the others have a number
// after their name.
type Plan struct {
	Plan      *plan.Plan        `json:"plan"`    // nil: Notes or Obstacles contain the reason
	Targets   map[string]string `json:"targets"` // the resulting states, by component
	Obstacles []goal.Obstacle   `json:"obstacles,omitempty"`
	Notes     []string          `json:"notes,omitempty"`
	Unknown   []string          `json:"unknown,omitempty"` // requested names that the application does not have
}

// LeaseRequest is a request to put components on hold until the lease ends.
type LeaseRequest struct {
	Components []string `json:"components,omitempty"` // none: all
	Seconds    float64  `json:"seconds"`              // until it expires without a renewal

	ID string `json:"-"` // the client's choice; the same id renews the lease
	By string `json:"-"` // the user, set by the manager
}

// Lease is a lease that was acquired or renewed.
type Lease struct {
	ID         string   `json:"id"`
	Components []string `json:"components"`
	Seconds    float64  `json:"seconds"` // until it expires without a renewal
	Renewed    bool     `json:"renewed"` // false: it is new, or had expired and was acquired again
	Goal       bool     `json:"goal"`    // false: there is no goal, so nothing starts the components
}

// DrainRequest is a request to drain a node.
type DrainRequest struct {
	Seconds float64 `json:"seconds"` // until the drain expires
}

// Drain is a node whose containers are about to be replaced.
type Drain struct {
	Node      string    `json:"node"`
	Instances []string  `json:"instances"`        // on which new operations are blocked
	Underway  []Busy    `json:"underway"`         // executions that are still running there
	Silent    []string  `json:"silent,omitempty"` // unresponsive replicas
	Empty     bool      `json:"empty"`            // no operation is running there, and new ones are blocked
	Until     time.Time `json:"until"`
}

// Busy is an execution that has not ended.
type Busy struct {
	Component string `json:"component"`
	Operation string `json:"operation"`
	Execution string `json:"execution"`
	By        string `json:"by,omitempty"`
}
