package client

import (
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/unit/wire"
)

// The types of the API; see package rest and the packages below it.
type (
	App          = rest.App
	Node         = rest.Node
	Component    = rest.Component
	Replica      = rest.ComponentReplica
	Operation    = rest.OperationModel
	Lack         = rest.Lack
	Task         = goal.TaskStatus
	TaskIndex    = goal.TaskIndex
	Process      = wire.Process
	RunRequest   = rest.RunRequest
	Execution    = rest.Execution
	Run          = rest.Run
	Part         = wire.Part
	HistoryQuery = rest.HistoryQuery
	History      = rest.History
	Goal         = rest.Goal
	Hold         = goal.Hold
	Step         = goal.Step
	Obstacle     = goal.Obstacle
	Plan         = rest.Plan
	Steps        = plan.Plan
	PlanStep     = plan.Step
	Lease        = rest.Lease
	Drain        = rest.Drain
	Busy         = rest.Busy
	Credentials  = rest.Credentials
	Event        = mirror.Event
	LogQuery     = rest.LogQuery
	LogLine      = rest.LogLine
	Problem      = rest.Problem
)

// The outcomes of an execution that commands distinguish.
const (
	OutcomeRunning   = wire.OutcomeRunning
	OutcomeSucceeded = wire.OutcomeSucceeded
)

// The phases of a task, and of its indexes.
const (
	TaskWaiting   = goal.TaskWaiting
	TaskRunning   = goal.TaskRunning
	TaskRetrying  = goal.TaskRetrying
	TaskCompleted = goal.TaskCompleted
	TaskFailed    = goal.TaskFailed
)

// The kinds of log lines; see rest.LogKind.
const (
	LogPrinted = rest.LogPrinted
	LogLost    = rest.LogLost
	LogSilent  = rest.LogSilent
	LogLive    = rest.LogLive
)

// Untouched reports whether no operation has run on a component in this container.
func Untouched(r Replica) bool {
	const why = "nothing was done to it yet" // managers of the previous release send only this text
	return r.Untouched || r.Why == why
}
