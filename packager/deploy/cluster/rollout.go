package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/deploy/backend"
)

// rollout is a snapshot of an application's objects on a cluster.
type rollout struct {
	workloads, pods, claims, events []command.Object

	past    map[string]bool // UIDs of the pods that existed before this deployment; their earlier failures do not count
	manager string          // name of the manager's workload
}

// observe returns the current objects of the application. Events are only shown to users; missing permission to read them is not
// an error.
func (c *Cluster) observe(ctx context.Context) (rollout, error) {
	r := rollout{past: c.past, manager: c.info.Manager.Service}
	all, err := c.in.Objects(ctx, "get", workloadKinds+",pods,"+volumeKinds, "--selector", c.info.Selector)
	if err != nil {
		return r, err
	}
	for _, o := range all {
		switch o.Kind {
		case "Pod":
			r.pods = append(r.pods, o)
		case "PersistentVolumeClaim":
			r.claims = append(r.claims, o)
		default:
			r.workloads = append(r.workloads, o)
		}
	}
	if len(r.failures()) > 0 {
		r.events, _ = c.in.Objects(ctx, "get", "events", "--field-selector", "type=Warning")
	}
	return r, nil
}

// Failures returns the workloads that are not complete, or may fail again.
func (c *Cluster) Failures(ctx context.Context) ([]backend.Failure, error) {
	r, err := c.observe(ctx)
	return append(r.failures(), r.justStarted()...), err
}

// justStarted returns the workloads that were started so recently that they may still exit: without a probe, a container is ready
// at once.
func (r rollout) justStarted() []backend.Failure {
	var out []backend.Failure
	for _, w := range r.workloads {
		if complete(w) && slices.ContainsFunc(r.podsOf(w.Workload()), isYoungPod) {
			out = append(out, backend.Failure{Service: w.Workload(), Why: "has only just started", Young: true})
		}
	}
	return out
}

func isYoungPod(o command.Object) bool {
	return slices.ContainsFunc(o.Status.Containers, func(s command.ContainerStatus) bool {
		probed := slices.ContainsFunc(o.Spec.Containers, func(c command.Container) bool { return c.Name == s.Name && c.Readiness != nil })
		return !probed && s.Restarts == 0 && s.State.Running != nil && backend.IsYoung(s.State.Running.Since)
	})
}

// failures returns the workloads that are not complete or keep restarting. Without a health check, a container that exits
// repeatedly is ready in between.
func (r rollout) failures() []backend.Failure {
	var out []backend.Failure
	for _, w := range r.workloads {
		if !complete(w) || slices.ContainsFunc(r.podsOf(w.Workload()), restarted) {
			out = append(out, r.failure(w))
		}
	}
	return out
}

// restarted reports whether a container of a pod has restarted within the last backend.Settled.
func restarted(o command.Object) bool {
	return slices.ContainsFunc(o.Status.Containers, hasRestarted)
}

func hasRestarted(s command.ContainerStatus) bool {
	return s.Restarts > 0 && s.State.Running != nil && time.Since(s.State.Running.Since) < backend.Settled
}

// complete reports whether all pods of a workload exist, are ready and have its newest version.
func complete(o command.Object) bool {
	if o.IsJob() {
		return o.JobUp()
	}
	s, want := o.Status, o.Replicas()
	if s.Observed < o.Metadata.Generation || s.Updated < want || s.Replicas > want || s.Ready < want {
		return false
	}
	return o.Kind != "Deployment" || s.Available >= want
}

func (r rollout) failure(w command.Object) backend.Failure {
	f := backend.Failure{Service: w.Workload(), Job: w.IsJob()}
	var why []string
	alone := r.isAlone(w)
	for _, p := range r.podsOf(f.Service) {
		if well(p) {
			continue
		}
		text, times := r.podFailure(p)
		why = append(why, "pod "+p.Metadata.Name+" "+text)
		if alone {
			times = max(times, ends(p))
		}
		if !r.past[p.Metadata.UID] {
			f.Times = max(f.Times, times)
		}
	}
	reason, failed := w.JobFailed()
	if f.Final = failed; failed {
		why = append([]string{reason}, why...)
	}
	if len(why) == 0 {
		text, times := r.noPods(w)
		why, f.Times = append(why, text), times
	}
	f.Why = strings.Join(why, "; ")
	return f
}

// isAlone reports whether all other workloads were ready before this deployment, so that w has nothing to wait for. Each exit
// of its containers then counts as a failure. Otherwise its containers may need several restarts, for example until a database
// answers.
func (r rollout) isAlone(w command.Object) bool {
	for _, other := range r.workloads {
		if s := other.Workload(); s == w.Workload() || s == r.manager {
			continue
		}
		replaced := func(p command.Object) bool { return !r.past[p.Metadata.UID] || restarted(p) }
		if !complete(other) || slices.ContainsFunc(r.podsOf(other.Workload()), replaced) {
			return false
		}
	}
	return len(r.past) > 0
}

// ends returns how often a container of a pod has exited.
func ends(o command.Object) int {
	most := 0
	for _, s := range o.Status.Containers {
		n := s.Restarts
		if w := s.State.Waiting; s.State.Terminated != nil || w != nil && w.Reason == "CrashLoopBackOff" {
			n++
		}
		most = max(most, n)
	}
	return most
}

// podsOf returns the pods of a workload that are not being deleted.
func (r rollout) podsOf(service string) []command.Object {
	var out []command.Object
	for _, p := range r.pods {
		if p.Workload() == service && p.Metadata.Deleted == nil {
			out = append(out, p)
		}
	}
	return out
}

// noPods explains why an incomplete workload has no pod.
func (r rollout) noPods(w command.Object) (why string, times int) {
	if c, ok := w.Condition("ReplicaFailure"); ok && c.Status == "True" {
		why = c.Reason + ": " + c.Message
	}
	for _, e := range r.events {
		if e.Reason != "FailedCreate" {
			continue
		}
		// A Deployment's pods are created by a ReplicaSet with its name and a hash.
		theirs := e.Involved.Kind == "ReplicaSet" && strings.HasPrefix(e.Involved.Name, w.Metadata.Name+"-") && why != ""
		if e.Involved.UID == w.Metadata.UID || theirs {
			why, times = e.Reason+": "+e.Message, times+max(e.Count, 1)
		}
	}
	if why == "" {
		why = "pods are being replaced"
	}
	return why, times
}

// podFailure returns why a pod is not ready and how often it has failed.
func (r rollout) podFailure(p command.Object) (why string, times int) {
	if c, ok := p.Condition("PodScheduled"); ok && c.Status == "False" {
		why = "is on no node: " + c.Message + r.unbound()
	}
	for _, s := range p.Status.Containers {
		if s.Ready && !hasRestarted(s) {
			continue
		}
		text, n := waits(s)
		if why, times = text, max(times, n); n == 0 {
			times = r.pullsFailed(p)
		}
	}
	if why == "" {
		why = "is " + strings.ToLower(p.Status.Phase)
	}
	if e := r.warningOf(p); e != "" && !strings.Contains(why, e) {
		why += ": " + e
	}
	return why, times
}

// unbound lists the volume claims that a pod may be waiting for.
func (r rollout) unbound() string {
	var names []string
	for _, c := range r.claims {
		if c.Status.Phase == "Pending" {
			names = append(names, c.Metadata.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (without a volume yet: " + strings.Join(names, ", ") + ")"
}

// waits describes the state of a container that is not ready.
func waits(s command.ContainerStatus) (text string, times int) {
	ended := s.Last.Terminated
	if s.State.Terminated != nil {
		ended = s.State.Terminated
	}
	said := ""
	if ended != nil {
		said = fmt.Sprintf(": it ended with code %d (%s)", ended.ExitCode, strings.TrimSuffix(ended.Reason+": "+ended.Message, ": "))
	}
	switch w := s.State.Waiting; {
	case w == nil && hasRestarted(s):
		return fmt.Sprintf("was restarted %d times%s", s.Restarts, said), s.Restarts
	case w == nil && s.State.Running != nil:
		return "runs and is not ready", 0
	case w == nil && s.Restarts > 0: // it has just exited again
		return fmt.Sprintf("was restarted %d times%s", s.Restarts, said), s.Restarts
	case w == nil:
		return "is not up" + said, 0
	case w.Reason == "CrashLoopBackOff":
		return fmt.Sprintf("was restarted %d times%s", s.Restarts, said), s.Restarts
	case w.Reason == "InvalidImageName" || w.Reason == "ErrImageNeverPull":
		return w.Reason + ": " + w.Message, backend.Hopeless
	default:
		return strings.TrimSuffix("waits: "+w.Reason+": "+w.Message, ": ") + said, 0
	}
}

func (r rollout) pullsFailed(p command.Object) int {
	times := 0
	for _, e := range r.events {
		if e.Involved.UID == p.Metadata.UID && e.Reason == "Failed" && strings.HasPrefix(e.Message, "Failed to pull image") {
			times += max(e.Count, 1)
		}
	}
	return times
}

// warningOf returns the last warning event of a pod.
func (r rollout) warningOf(p command.Object) string {
	last := ""
	for _, e := range r.events {
		if e.Involved.UID == p.Metadata.UID && e.Reason != "BackOff" {
			last = strings.TrimSpace(e.Message)
		}
	}
	return last
}

// well reports whether a pod is ready and has not restarted recently, or has finished its work.
func well(o command.Object) bool {
	return o.Holds("Ready") && !restarted(o) || o.Status.Phase == "Succeeded"
}

// blamed returns the pod of a workload whose log may explain the failure. A failed pod of a Job is preferred to its
// replacement.
func (r rollout) blamed(service string) (command.Object, bool) {
	pods := slices.DeleteFunc(r.podsOf(service), func(p command.Object) bool { return well(p) || len(p.Status.Containers) == 0 })
	if len(pods) == 0 {
		return command.Object{}, false
	}
	return pods[max(0, slices.IndexFunc(pods, func(p command.Object) bool { return p.Status.Phase == "Failed" }))], true
}

// silent returns a pod of a node whose unit does not answer. The cluster may consider that pod ready.
func (r rollout) silent(node string) (command.Object, bool) {
	for _, w := range r.workloads {
		if w.Called() != node && w.Workload() != node {
			continue
		}
		if p, ok := r.blamed(w.Workload()); ok {
			return p, true
		}
		for _, p := range r.podsOf(w.Workload()) {
			if len(p.Status.Containers) > 0 {
				return p, true
			}
		}
	}
	return command.Object{}, false
}

// Logs returns the end of a workload's container log, from before its last restart if there was one.
func (c *Cluster) Logs(ctx context.Context, f backend.Failure) (string, error) {
	r, err := c.observe(ctx)
	if err != nil {
		return "", err
	}
	p, ok := r.blamed(f.Service)
	if f.Silent {
		p, ok = r.silent(f.Service)
	}
	if !ok {
		return "", nil
	}
	now := []string{"logs", p.Metadata.Name, "--tail=15"}
	before := append(slices.Clone(now), "--previous")
	first, second := now, before
	if s := p.Status.Containers[0]; s.Restarts > 0 && (s.State.Waiting != nil || hasRestarted(s)) { // a restart is recent: the failure is in the previous log
		first, second = before, now
	}
	out, err := c.in.Output(ctx, first...)
	if strings.HasPrefix(string(out), "unable to retrieve container logs for ") { // it has exited again, and that container was removed
		out, err = c.in.Output(ctx, second...)
	}
	return string(out), err
}
