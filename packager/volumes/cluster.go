package volumes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/running"
)

// cluster has the volumes of an application on Kubernetes: its claims.
type cluster struct {
	running.Cluster
	about    kubernetes.Info
	dir      string         // that the application was packaged in; empty: nobody knows
	replicas map[string]int // of workloads that were stopped

	patience, pause time.Duration // for a pod to start, and between two looks at it
}

// OnCluster is where the volumes of an application are on Kubernetes. The folder that it was
// packaged in may be empty: it is needed only while the application does not run.
func OnCluster(on running.Cluster, app, namespace, dir string) Place {
	return &cluster{
		Cluster: on, about: kubernetes.Named(app, namespace), dir: dir, replicas: map[string]int{},
		patience: 2 * time.Minute, pause: 300 * time.Millisecond,
	}
}

// Namespaces are those that have volumes of an application.
func Namespaces(ctx context.Context, on running.Cluster, app string) ([]string, error) {
	var list objects
	if err := on.Objects(ctx, &list, "get", "persistentvolumeclaims", "--all-namespaces", "--selector", kubernetes.Named(app, "").Selector); err != nil {
		return nil, err
	}
	var all []string
	for _, o := range list.Items {
		all = append(all, o.Metadata.Namespace)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// in are the words of a command for the application's namespace.
func (c *cluster) in(args ...string) []string {
	return append([]string{"--namespace", c.about.Namespace}, args...)
}

const workloadKinds = "deployments.apps,statefulsets.apps"

// look returns the application's objects.
func (c *cluster) look(ctx context.Context) ([]object, error) {
	var list objects
	err := c.Objects(ctx, &list, c.in("get", "persistentvolumeclaims,pods,"+workloadKinds, "--selector", c.about.Selector)...)
	return list.Items, err
}

func (c *cluster) List(ctx context.Context) ([]Volume, error) {
	found, err := c.look(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list the volumes in namespace %q: %w", c.about.Namespace, err)
	}
	all := []Volume{}
	for _, o := range found {
		if o.Kind != "PersistentVolumeClaim" {
			continue
		}
		v := Volume{Name: o.called(), ID: o.Metadata.Name, Users: []User{}}
		for _, p := range found {
			if p.Kind == "Pod" && p.Spec.claims(v.ID) {
				u := p.user(found)
				v.Users = append(v.Users, u)
				if u.Running {
					v.Machine = p.Spec.Node
				}
			}
		}
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b Volume) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// user is a pod. One that is yet to start may write to its volumes at any time.
func (o object) user(all []object) User {
	u := User{Name: o.Metadata.Name, ID: o.Metadata.UID, Running: !o.ended()}
	for _, w := range all {
		if w.isWorkload() && w.Metadata.Name == o.Metadata.Labels[kubernetes.Workload] {
			u.Node, u.Service = w.called(), strings.ToLower(w.Kind)+"/"+w.Metadata.Name
		}
	}
	return u
}

func (c *cluster) Save(ctx context.Context, v Volume, out io.Writer) error {
	return c.beside(ctx, v, false, func(pod string) error {
		return c.exec(ctx, pod, saving, nil, out)
	})
}

func (c *cluster) Load(ctx context.Context, v Volume, in io.Reader) error {
	return c.beside(ctx, v, true, func(pod string) error {
		return c.exec(ctx, pod, loading, in, io.Discard)
	})
}

// Stop takes the pods of a workload away. It is refused where nothing would bring them back.
func (c *cluster) Stop(ctx context.Context, u User) error {
	if u.Service == "" {
		return fmt.Errorf("pod %q belongs to nothing that would start it again: take it away, and start it, yourself", u.Name)
	}
	var w object
	if err := c.Objects(ctx, &w, c.in("get", u.Service)...); err != nil {
		return fmt.Errorf("cannot stop pod %q: %w", u.Name, err)
	}
	if _, stopped := c.replicas[u.Service]; !stopped {
		c.replicas[u.Service] = w.replicas()
	}
	if err := c.scale(ctx, u.Service, 0); err != nil {
		return fmt.Errorf("cannot stop pod %q: %w", u.Name, err)
	}
	err := c.Run(ctx, nil, io.Discard, c.in("wait", "--for=delete", "pod/"+u.Name, "--timeout", stopping.String())...)
	if why := new(running.Error); errors.As(err, &why) && strings.Contains(why.Said, "NotFound") {
		return nil // it is gone already
	}
	if err != nil {
		return fmt.Errorf("cannot stop pod %q: %w", u.Name, err)
	}
	return nil
}

// stopping is how long a pod may take to end.
const stopping = 5 * time.Minute

// Start brings a workload's pods back, and waits until they are ready: components of other
// containers require them.
func (c *cluster) Start(ctx context.Context, u User) error {
	replicas, stopped := c.replicas[u.Service]
	if !stopped {
		return nil // it still runs
	}
	err := c.scale(ctx, u.Service, replicas)
	if err == nil {
		delete(c.replicas, u.Service)
		err = c.Run(ctx, nil, io.Discard, c.in("rollout", "status", u.Service)...)
	}
	if err != nil {
		return fmt.Errorf("cannot start %q again: %w", u.Service, err)
	}
	return nil
}

func (c *cluster) scale(ctx context.Context, workload string, replicas int) error {
	return c.Run(ctx, nil, io.Discard, c.in("scale", workload, fmt.Sprintf("--replicas=%d", replicas))...)
}

// template returns the workload of the application's manager, and those that have a volume.
// While none of them is on the cluster, the folder's are.
func (c *cluster) template(ctx context.Context, claim string) (manager object, users []object, err error) {
	found, err := c.look(ctx)
	if err != nil {
		return manager, nil, err
	}
	isManager := func(o object) bool { return o.isWorkload() && o.Spec.Template.Spec.isManager() }
	if !slices.ContainsFunc(found, isManager) && c.dir != "" {
		var list objects
		if err := c.Objects(ctx, &list, "apply", "--kustomize", c.dir, "--dry-run=client"); err != nil {
			return manager, nil, fmt.Errorf("cannot read the manifests of %q: %w", c.dir, err)
		}
		found = list.Items
	}
	for _, o := range found {
		if isManager(o) {
			manager = o
		}
		if o.isWorkload() && o.Spec.Template.Spec.claims(claim) {
			users = append(users, o)
		}
	}
	if manager.Kind == "" {
		return manager, nil, fmt.Errorf("the manager of %q, whose image copies volumes, is not in namespace %q: deploy the application, or name its folder", c.about.App, c.about.Namespace)
	}
	return manager, users, nil
}

// objects is a list, and object any of them: each kind has the fields of its own.
type objects struct {
	Items []object `json:"items"`
}

type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		UID         string            `json:"uid"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
		Deleted     *time.Time        `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		podSpec
		Replicas *int `json:"replicas"`
		Template struct {
			Spec podSpec `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status podStatus `json:"status"`

	Message string `json:"message"` // of an event
}

// called is the name that an object has in the application.
func (o object) called() string {
	return cmp.Or(o.Metadata.Annotations[kubernetes.NameAnnotation], o.Metadata.Name)
}

func (o object) isWorkload() bool { return o.Kind == "Deployment" || o.Kind == "StatefulSet" }

func (o object) ended() bool { return o.Status.Phase == "Succeeded" || o.Status.Phase == "Failed" }

func (o object) replicas() int {
	if o.Spec.Replicas == nil {
		return 1
	}
	return *o.Spec.Replicas
}

type podSpec struct {
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
	Containers []struct {
		Image string `json:"image"`
		Env   []struct {
			Name string `json:"name"`
		} `json:"env"`
	} `json:"containers"`
}

func (s podSpec) claims(name string) bool {
	for _, v := range s.Volumes {
		if v.Claim.Name == name {
			return true
		}
	}
	return false
}

// isManager reports whether a pod is of the application's manager.
func (s podSpec) isManager() bool {
	for _, c := range s.Containers {
		for _, v := range c.Env {
			if v.Name == "TOSKOSE_MANAGER_PORT" {
				return true
			}
		}
	}
	return false
}
