package deploy

import (
	"time"

	"github.com/toskose/toskose/packager/kubernetes"
)

// What is read of Kubernetes' objects, by their names in the API. All kinds are
// read into one: each has the fields of its own.

type objectList struct {
	Items []object `json:"items"`
}

type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name   string            `json:"name"`
		UID    string            `json:"uid"`
		Labels map[string]string `json:"labels"`

		Annotations map[string]string `json:"annotations"`

		Generation int64      `json:"generation"`
		Deleted    *time.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		Replicas   *int           `json:"replicas"`
		Containers []podContainer `json:"containers"` // of a pod
	} `json:"spec"`
	Status status `json:"status"`

	// Of an event.
	Type     string    `json:"type"`
	Reason   string    `json:"reason"`
	Message  string    `json:"message"`
	Count    int       `json:"count"`
	Involved reference `json:"involvedObject"`
}

type podContainer struct {
	Name      string    `json:"name"`
	Readiness *struct{} `json:"readinessProbe"`
}

type reference struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	UID  string `json:"uid"`
}

type status struct {
	Phase      string                 `json:"phase"`
	Conditions []kubernetes.Condition `json:"conditions"`

	// Of a workload: numbers of pods.
	Observed  int64 `json:"observedGeneration"`
	Replicas  int   `json:"replicas"`
	Updated   int   `json:"updatedReplicas"`
	Ready     int   `json:"readyReplicas"`
	Available int   `json:"availableReplicas"`

	Serving int `json:"ready"` // of a Job: pods

	Containers []containerStatus `json:"containerStatuses"` // of a pod
}

type containerStatus struct {
	Name     string         `json:"name"`
	Ready    bool           `json:"ready"`
	Restarts int            `json:"restartCount"`
	State    containerState `json:"state"`
	Last     containerState `json:"lastState"`
}

type containerState struct {
	Running *struct {
		Since time.Time `json:"startedAt"`
	} `json:"running"`
	Waiting *struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"waiting"`
	Terminated *struct {
		ExitCode int    `json:"exitCode"`
		Reason   string `json:"reason"`
		Message  string `json:"message"`
	} `json:"terminated"`
}
