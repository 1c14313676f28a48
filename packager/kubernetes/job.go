package kubernetes

import (
	"fmt"
	"strings"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

type jobSpec struct {
	Completions     int            `yaml:"completions"`
	Parallelism     int            `yaml:"parallelism"`
	Mode            string         `yaml:"completionMode"`
	Backoff         *int           `yaml:"backoffLimit,omitempty"`
	BackoffPerIndex *int           `yaml:"backoffLimitPerIndex,omitempty"`
	Deadline        int            `yaml:"activeDeadlineSeconds,omitempty"`
	Failures        *failurePolicy `yaml:"podFailurePolicy,omitempty"`
	Template        podTemplate    `yaml:"template"`
}

type failurePolicy struct {
	Rules []failureRule `yaml:"rules"`
}

type failureRule struct {
	Action string    `yaml:"action"`
	Codes  exitCodes `yaml:"onExitCodes"`
}

type exitCodes struct {
	Container string `yaml:"containerName"`
	Operator  string `yaml:"operator"`
	Values    []int  `yaml:"values,flow"`
}

// maxJobName is the maximum length of a Job's name: its pods' names add the index and five letters.
const maxJobName = 52

// job returns the Job of a container that runs one Task. The template of a Job is immutable, so its name includes a digest of
// the template: a changed template becomes another Job.
func (w *writer) job(s packager.Service, secrets output.Secrets) (object, error) {
	name, task := w.names[s.Name], s.Job
	pod := w.pod(s)
	pod.Restart = "Never" // required for a Job with indexes or a pod failure policy
	c := &pod.Containers[0]
	c.Startup, c.Readiness, c.Liveness = nil, nil, nil
	c.Resources, pod.Affinity = resourcesOf(s.Deploy.Resources), affinityOf(s.Deploy.Placement.Constraints)
	spec := jobSpec{
		Completions: task.Completions, Parallelism: task.Parallelism, Deadline: task.Deadline, Mode: "NonIndexed",
		Template: podTemplate{metadata{Labels: w.labels(name)}, pod},
	}
	failure := "FailJob"
	if task.Completions > 1 {
		spec.Mode, spec.BackoffPerIndex, failure = "Indexed", &task.BackoffLimit, "FailIndex"
	} else {
		spec.Backoff = &task.BackoffLimit
	}
	if len(task.FailOn) > 0 {
		spec.Failures = &failurePolicy{[]failureRule{{failure, exitCodes{c.Name, "In", task.FailOn}}}}
	}
	made, err := encode("the Job of "+s.Name, spec)
	if err != nil {
		return object{}, err
	}
	of := strings.Builder{}
	of.Write(made.Data)
	if !s.Patch.IsZero() {
		changes, err := encode("the patch of "+s.Name, s.Patch.Node)
		if err != nil {
			return object{}, err
		}
		of.Write(changes.Data)
	}
	for _, secret := range s.Secrets {
		fmt.Fprintf(&of, "%s %s\n", secret, secrets.Suffixes[secret])
	}
	return object{
		APIVersion: "batch/v1", Kind: "Job",
		Metadata: metadata{Name: packager.Shorten(name, of.String(), maxJobName), Labels: w.labels(name), Annotations: w.annotations(s)},
		Spec:     spec,
	}, nil
}
