package controller

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// workloadState is the state of a component's workload.
type workloadState struct {
	running  bool
	replicas int64 // that are ready; of a Job, that are ready or have succeeded
	why      string
}

// stateOf returns the state of a workload, which is nil if it does not exist. The wanted workload has the number of replicas:
// a workload that is paused may have fewer.
func stateOf(want, now *object) workloadState {
	if now == nil || now.GetDeletionTimestamp() != nil {
		return workloadState{why: "its workload does not exist yet"}
	}
	if now.GetKind() == jobKind.Kind {
		return stateOfJob(now)
	}
	replicas, given, _ := unstructured.NestedInt64(want.Object, "spec", "replicas")
	if !given {
		replicas = 1
	}
	status := func(field string) int64 { return numberOf(now, "status", field) }
	s := workloadState{replicas: status("readyReplicas")}
	switch {
	case s.replicas < replicas:
		s.why = fmt.Sprintf("%d of %d replicas are ready", s.replicas, replicas)
	case status("observedGeneration") < now.GetGeneration(), status("updatedReplicas") < replicas, status("replicas") > replicas:
		s.why = "replicas of an earlier version are being replaced"
	default:
		s.running, s.why = true, fmt.Sprintf("%d of %d replicas are ready", replicas, replicas)
	}
	return s
}

func stateOfJob(job *object) workloadState {
	s := workloadState{replicas: numberOf(job, "status", "ready") + numberOf(job, "status", "succeeded"), why: "its Job has not finished yet"}
	for _, c := range listOf(job.Object, "status", "conditions") {
		switch {
		case wordOf(c, "status") != "True":
		case wordOf(c, "type") == "Complete":
			s.running, s.why = true, "its Job is complete"
		case wordOf(c, "type") == "Failed":
			s.why = "its Job failed: " + wordOf(c, "message")
		}
	}
	return s
}
