package command

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/kubernetes"
)

// Object is the part of an API object that is used, with the API's field names. It combines the fields of all kinds.
type Object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		UID       string            `json:"uid"`
		Labels    map[string]string `json:"labels"`

		Annotations map[string]string `json:"annotations"`

		Owners []Owner `json:"ownerReferences"`

		Generation int64      `json:"generation"`
		Deleted    *time.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		PodSpec       // pods only
		Replicas *int `json:"replicas"`
		Template struct {
			Spec PodSpec `json:"spec"`
		} `json:"template"`
		Components json.RawMessage `json:"components"` // Applications of Toskose's operator only
	} `json:"spec"`
	Status Status `json:"status"`

	// Events only.
	Reason   string    `json:"reason"`
	Message  string    `json:"message"`
	Count    int       `json:"count"`
	Involved Reference `json:"involvedObject"`
}

// Owner is an owner of an object.
type Owner struct {
	Kind       string `json:"kind"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// IsControlled reports whether an object has a controller, which makes and removes it.
func (o Object) IsControlled() bool {
	return slices.ContainsFunc(o.Metadata.Owners, func(by Owner) bool { return by.Controller })
}

// Count is a number. A field of another type, which other kinds have under the same name, counts as 0.
type Count int

// UnmarshalJSON reads a number.
func (c *Count) UnmarshalJSON(data []byte) error {
	var n int
	if json.Unmarshal(data, &n) == nil {
		*c = Count(n)
	}
	return nil
}

// Reference is the object that an event is about.
type Reference struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// PodSpec is the specification of a pod.
type PodSpec struct {
	Node     string `json:"nodeName"`
	Security struct {
		NonRoot bool   `json:"runAsNonRoot"`
		User    *int64 `json:"runAsUser"`
		Group   *int64 `json:"runAsGroup"`
		FSGroup *int64 `json:"fsGroup"`
	} `json:"securityContext"`
	PullSecrets json.RawMessage `json:"imagePullSecrets"`
	Volumes     []struct {
		Claim struct {
			Name string `json:"claimName"`
		} `json:"persistentVolumeClaim"`
	} `json:"volumes"`
	Containers []Container `json:"containers"`
}

// Container is a container of a pod.
type Container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
	Env   []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
	Mounts []struct {
		Path string `json:"mountPath"`
	} `json:"volumeMounts"`
	Readiness *struct{} `json:"readinessProbe"`
}

// Status is the status of an object.
type Status struct {
	Phase      string      `json:"phase"`
	Conditions []Condition `json:"conditions"`

	// Workloads only: numbers of pods.
	Observed  int64 `json:"observedGeneration"`
	Replicas  int   `json:"replicas"`
	Updated   int   `json:"updatedReplicas"`
	Ready     int   `json:"readyReplicas"`
	Available int   `json:"availableReplicas"`

	Serving Count `json:"ready"` // Jobs only: ready pods

	Containers []ContainerStatus `json:"containerStatuses"` // pods only
}

// Condition is a condition of an object.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// ContainerStatus is the status of a container.
type ContainerStatus struct {
	Name     string         `json:"name"`
	Ready    bool           `json:"ready"`
	Restarts int            `json:"restartCount"`
	State    ContainerState `json:"state"`
	Last     ContainerState `json:"lastState"`
}

// ContainerState is the state of a container. Exactly one field is not nil.
type ContainerState struct {
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

// Workloads returns the workloads that Toskose's operator makes of an Application; of other objects, none.
func (o Object) Workloads() []Object {
	var components []struct {
		Workload Object `json:"workload"`
	}
	if json.Unmarshal(o.Spec.Components, &components) != nil { // another kind has a field of this name
		return nil
	}
	var all []Object
	for _, c := range components {
		all = append(all, c.Workload)
	}
	return all
}

// Workload returns the name of the workload that an object belongs to.
func (o Object) Workload() string { return o.Metadata.Labels[kubernetes.Workload] }

// Called returns the object's name in the application.
func (o Object) Called() string {
	return cmp.Or(o.Metadata.Annotations[kubernetes.NameAnnotation], o.Metadata.Name)
}

// IsJob reports whether an object is a Job.
func (o Object) IsJob() bool { return o.Kind == "Job" }

// Replicas returns the desired number of pods of a workload.
func (o Object) Replicas() int {
	if o.Spec.Replicas == nil {
		return 1
	}
	return *o.Spec.Replicas
}

// Condition returns the condition of a type, if the object has it.
func (o Object) Condition(kind string) (c Condition, ok bool) {
	i := slices.IndexFunc(o.Status.Conditions, func(c Condition) bool { return c.Type == kind })
	if i < 0 {
		return Condition{}, false
	}
	return o.Status.Conditions[i], true
}

// Holds reports whether a condition is true.
func (o Object) Holds(kind string) bool {
	c, _ := o.Condition(kind)
	return c.Status == "True"
}

// JobFailed reports whether a Job has failed permanently, and why.
func (o Object) JobFailed() (why string, failed bool) {
	c, _ := o.Condition("Failed")
	return strings.TrimSuffix(c.Reason+": "+c.Message, ": "), o.IsJob() && c.Status == "True"
}

// JobUp reports whether a Job is running or has completed.
func (o Object) JobUp() bool {
	return o.Holds("Complete") || !o.Holds("Failed") && o.Status.Serving > 0
}

// HasEnded reports whether a pod has completed or failed.
func (o Object) HasEnded() bool { return o.Status.Phase == "Succeeded" || o.Status.Phase == "Failed" }

// Claims reports whether the pod mounts the volume of a claim.
func (s PodSpec) Claims(name string) bool {
	for _, v := range s.Volumes {
		if v.Claim.Name == name {
			return true
		}
	}
	return false
}

// Manager returns the pod's manager container, if it has one.
func (s PodSpec) Manager() (c Container, ok bool) {
	for _, c := range s.Containers {
		if _, ok := c.Variable(ManagerPort); ok {
			return c, true
		}
	}
	return Container{}, false
}

// ManagerPort is an environment variable that only a manager's container has.
const ManagerPort = "TOSKOSE_MANAGER_PORT"

// Variable returns the value of an environment variable of a container.
func (c Container) Variable(name string) (value string, ok bool) {
	for _, v := range c.Env {
		if v.Name == name {
			return v.Value, true
		}
	}
	return "", false
}
