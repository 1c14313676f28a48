package unit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/unit/component"
	"github.com/toskose/toskose/unit/wire"
)

// jobIndex is the variable in which Kubernetes gives the index to a pod of an indexed Job.
const jobIndex = "JOB_COMPLETION_INDEX"

// Exit codes of a container whose job failed for another reason than the exit code of an operation.
const (
	jobFailed  = 1
	jobTimeout = 124 // as in timeout(1)
	jobEnded   = 143 // as after SIGTERM
)

// job runs the operations of a container that exists for one Task, without a manager.
type job struct {
	*core
	spec.Job
	indexes []int
}

// newJob returns the job of a container, or nil. It runs all indexes unless the environment names
// one.
func newJob(c *core, env map[string]string) *job {
	if c.config.Supervisord.Job == nil {
		return nil
	}
	j := &job{core: c, Job: *c.config.Supervisord.Job}
	for i := range j.Completions {
		j.indexes = append(j.indexes, i)
	}
	if only, err := strconv.Atoi(env[jobIndex]); err == nil {
		j.indexes = []int{only}
	}
	return j
}

// run runs the remaining operations and returns how the container ends; nil if all were completed.
func (j *job) run() *EssentialError {
	for _, step := range j.Steps {
		if !j.allows(step) {
			continue // completed before a restart of the container
		}
		if x, err := j.perform(wire.ExecuteRequest{Component: step.Component, Operation: step.Operation}); err != nil || x.Outcome != wire.OutcomeSucceeded {
			return j.failed(step, x, err)
		}
	}
	for _, index := range j.indexes {
		if err := j.part(index); err != nil {
			return err
		}
	}
	return nil
}

// part runs one index unless it has been completed or has failed permanently.
func (j *job) part(index int) *EssentialError {
	last, since, err := j.remembered(index)
	if err != nil {
		return j.failed(j.Task, last, err)
	}
	switch {
	case last.Outcome == wire.OutcomeSucceeded:
		return nil
	case last.ExitCode != nil && slices.Contains(j.FailOn, *last.ExitCode):
		return j.failed(j.Task, last, nil)
	}
	attempt := 1
	if last.Part != nil {
		attempt = last.Part.Attempt + 1
	}
	request := wire.ExecuteRequest{
		Component: j.Task.Component, Operation: j.Task.Operation, Inputs: map[string]string{j.Input: strconv.Itoa(index)},
		Part: &wire.Part{Index: index, Attempt: attempt, Since: since},
	}
	if j.Deadline > 0 {
		left := since.Add(time.Duration(j.Deadline) * time.Second).Sub(j.now())
		if left <= 0 {
			return &EssentialError{Code: jobTimeout, Why: fmt.Sprintf("the deadline of %s has passed", j.Task)}
		}
		request.Timeout = left.Seconds()
	}
	if last, err = j.perform(request); err != nil || last.Outcome != wire.OutcomeSucceeded {
		return j.failed(j.Task, last, err)
	}
	return nil
}

// perform executes an operation to its end.
func (j *job) perform(r wire.ExecuteRequest) (wire.Execution, error) {
	r.By = "job"
	x, _, err := j.components.Operations().Execute(j.lifetime, r)
	if err != nil {
		return x, err
	}
	return j.components.Operations().Execution(j.lifetime, x.ID, component.UntilDone)
}

// allows reports whether the protocol of a component allows an operation now.
func (j *job) allows(o spec.JobStep) bool {
	_, all := j.components.Components()
	return slices.ContainsFunc(all, func(c wire.Component) bool {
		return c.Name == o.Component && slices.Contains(c.Allowed, o.Operation)
	})
}

// remembered returns the last execution of an index in the journal, and when the first of all
// indexes began.
func (j *job) remembered(index int) (last wire.Execution, since time.Time, err error) {
	hello, err := j.components.Hello(wire.Identity{})
	since = j.now()
	for _, c := range hello.Components {
		for _, x := range c.Recent {
			if c.Component != j.Task.Component || x.Part == nil {
				continue
			}
			if x.Part.Since.Before(since) {
				since = x.Part.Since
			}
			if x.Part.Index == index {
				last = x
			}
		}
	}
	return last, since, err
}

// failed returns how a container ends after an operation that did not succeed.
func (j *job) failed(o spec.JobStep, x wire.Execution, err error) *EssentialError {
	if err != nil {
		return &EssentialError{Code: jobFailed, Why: fmt.Sprintf("cannot execute %s: %v", o, err)}
	}
	code := jobFailed
	switch {
	case x.Outcome == wire.OutcomeTimeout:
		code = jobTimeout
	case x.ExitCode != nil:
		code = cmp.Or(*x.ExitCode, jobFailed)
	case x.Signal != "":
		code = 128 + int(unix.SignalNum(x.Signal))
	}
	why := fmt.Sprintf("%s is %s", o, x.Outcome)
	if x.Part != nil {
		why = fmt.Sprintf("index %d of %s is %s", x.Part.Index, o, x.Outcome)
	}
	if x.Reason != "" {
		why += ": " + x.Reason
	}
	return &EssentialError{Code: code, Why: why}
}
