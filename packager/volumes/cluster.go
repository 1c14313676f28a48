package volumes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/operator/levels"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/kubernetes"
)

// cluster implements Place for the volume claims of an application on Kubernetes.
type cluster struct {
	command.Cluster // in the application's namespace
	about           kubernetes.Info
	dir             string         // the folder that the application was packaged in; empty: unknown
	replicas        map[string]int // original number of replicas of stopped workloads
	paused          bool           // Toskose's operator leaves the workloads alone

	patience, pause time.Duration // timeout for a pod to start, and interval between checks
}

// OnCluster returns the volumes of an application on Kubernetes. dir is the folder that the application was packaged in; it
// may be empty, and is only needed while the application is not running.
func OnCluster(on command.Cluster, app, namespace, dir string) Place {
	on.Namespace = kubernetes.Named(app, namespace).Namespace
	return &cluster{
		Cluster: on, about: kubernetes.Named(app, namespace), dir: dir, replicas: map[string]int{},
		patience: 2 * time.Minute, pause: 300 * time.Millisecond,
	}
}

// Namespaces returns the namespaces that contain volumes of an application, including external ones that it mounts.
func Namespaces(ctx context.Context, on command.Cluster, app string) ([]string, error) {
	found, err := on.Objects(ctx, "get", "persistentvolumeclaims,"+workloadKinds, "--all-namespaces", "--selector", kubernetes.Named(app, "").Selector)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, o := range found {
		if o.Kind == claimKind || len(packager.ReadExternal(o.Metadata.Annotations)) > 0 {
			all = append(all, o.Metadata.Namespace)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

const (
	workloadKinds = "deployments.apps,statefulsets.apps"
	claimKind     = "PersistentVolumeClaim"
)

// objects returns the application's objects.
func (c *cluster) objects(ctx context.Context) ([]command.Object, error) {
	return c.Objects(ctx, "get", "persistentvolumeclaims,pods,"+workloadKinds, "--selector", c.about.Selector)
}

func (c *cluster) List(ctx context.Context) ([]Volume, error) {
	found, err := c.objects(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list the volumes in namespace %q: %w", c.about.Namespace, err)
	}
	external, claims, err := c.external(ctx, found)
	if err != nil {
		return nil, err
	}
	all := []Volume{}
	for _, o := range slices.Concat(found, claims) {
		if o.Kind != claimKind || slices.ContainsFunc(all, func(v Volume) bool { return v.ID == o.Metadata.Name }) {
			continue
		}
		v := Volume{Name: cmp.Or(external[o.Metadata.Name], o.Called()), ID: o.Metadata.Name, Users: []User{}}
		for _, p := range found {
			if p.Kind == "Pod" && p.Spec.Claims(v.ID) {
				u := user(p, found)
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

// external returns the claims of the external volumes that the application's workloads mount, or that its folder names, and the
// application's names of these volumes by their claims.
func (c *cluster) external(ctx context.Context, found []command.Object) (names map[string]string, claims []command.Object, err error) {
	names = map[string]string{}
	if info, err := kubernetes.ReadInfo(c.dir); c.dir != "" && err == nil && info.App == c.about.App && info.Namespace == c.about.Namespace {
		for name, claim := range info.ExternalVolumes {
			names[claim] = name
		}
	}
	for _, o := range found {
		if isWorkload(o) {
			for name, claim := range packager.ReadExternal(o.Metadata.Annotations) {
				names[claim] = name
			}
		}
	}
	if len(names) == 0 {
		return names, nil, nil
	}
	args := append([]string{"get", "persistentvolumeclaims", "--ignore-not-found"}, slices.Sorted(maps.Keys(names))...)
	if claims, err = c.Objects(ctx, args...); err != nil {
		return nil, nil, fmt.Errorf("cannot list the external volumes in namespace %q: %w", c.about.Namespace, err)
	}
	return names, claims, nil
}

// user describes a pod that uses a volume. A pod that has not started yet counts as running, because it may write at any time.
func user(o command.Object, all []command.Object) User {
	u := User{Name: o.Metadata.Name, ID: o.Metadata.UID, Running: !o.HasEnded()}
	for _, w := range all {
		if isWorkload(w) && w.Metadata.Name == o.Workload() {
			u.Node, u.Service = w.Called(), strings.ToLower(w.Kind)+"/"+w.Metadata.Name
		}
	}
	return u
}

func (c *cluster) Save(ctx context.Context, v Volume, out io.Writer) error {
	return c.beside(ctx, v, program{env: []string{wantsSummary + "=1"}}, func(pod string) error {
		return c.exec(ctx, pod, saving, &open{closed: make(chan struct{})}, out)
	})
}

func (c *cluster) Load(ctx context.Context, v Volume, token string, in io.Reader, out io.Writer) error {
	return c.beside(ctx, v, program{env: []string{hasToken + "=" + token}, writes: true}, func(pod string) error {
		return c.exec(ctx, pod, loading, in, out)
	})
}

func (c *cluster) Recover(ctx context.Context, v Volume, token string, out io.Writer) error {
	return c.beside(ctx, v, program{env: []string{hasToken + "=" + token}, writes: true}, func(pod string) error {
		return c.exec(ctx, pod, recovering, nil, out)
	})
}

// annotation stores the Note of a claim: the token, and restoredWord if the volume is restored.
const annotation = labelRestore

const restoredWord = "restored"

func (c *cluster) Note(ctx context.Context, v Volume) (Note, error) {
	claim, err := c.Object(ctx, "get", "persistentvolumeclaim", v.ID)
	if err != nil {
		return Note{}, fmt.Errorf("cannot read the note of volume %q: %w", v.Name, err)
	}
	token, word, _ := strings.Cut(claim.Metadata.Annotations[annotation], " ")
	return Note{Token: token, Restored: word == restoredWord}, nil
}

func (c *cluster) SetNote(ctx context.Context, v Volume, n Note) error {
	text := annotation + "=" + n.Token
	switch {
	case n.Token == "":
		text = annotation + "-"
	case n.Restored:
		text += " " + restoredWord
	}
	if err := c.Run(ctx, nil, nil, "annotate", "--overwrite", "persistentvolumeclaim", v.ID, text); err != nil {
		return fmt.Errorf("cannot write the note of volume %q: %w", v.Name, err)
	}
	return nil
}

// Tidy removes pods of killed commands and restores the replicas of stopped workloads.
func (c *cluster) Tidy(ctx context.Context) (started []string, err error) {
	if err := RemovePods(ctx, c.Cluster, c.about.App); err != nil {
		return nil, err
	}
	found, err := c.objects(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range found {
		replicas, err := strconv.Atoi(o.Metadata.Annotations[annotationReplicas])
		if !isWorkload(o) || err != nil {
			continue
		}
		workload := strings.ToLower(o.Kind) + "/" + o.Metadata.Name
		c.replicas[workload] = replicas
		if err := c.Start(ctx, User{Service: workload}); err != nil {
			return started, err
		}
		started = append(started, workload)
	}
	if slices.ContainsFunc(found, isOfOperator) { // a command may have been killed before it stopped a workload
		err = c.setPaused(ctx, false)
	}
	return started, err
}

func isOfOperator(o command.Object) bool { return isWorkload(o) && o.IsControlled() }

// setPaused makes Toskose's operator leave the workloads of the application alone, or no longer.
func (c *cluster) setPaused(ctx context.Context, paused bool) error {
	change := levels.Paused + "-"
	if paused {
		change = levels.Paused + "=true"
	}
	err := c.Run(ctx, nil, nil, "annotate", levels.Application.Resource(), "--selector", c.about.Selector, "--overwrite", change)
	if err != nil {
		return fmt.Errorf("cannot pause or resume the operator's work on the application: %w", err)
	}
	return nil
}

// annotationReplicas stores the original number of replicas of a workload that was scaled to zero.
const annotationReplicas = "io.toskose.replicas"

// RemovePods removes the pods that killed commands left beside the volumes of an application. Such a pod completes at most one
// minute after its command was killed; RemovePods waits for that.
func RemovePods(ctx context.Context, in command.Cluster, app string) error {
	pods, err := in.Objects(ctx, "get", "pods", "--selector", labelCopies+","+packager.LabelApp+"="+app)
	if err != nil {
		return fmt.Errorf("cannot list the pods beside volumes: %w", err)
	}
	for _, p := range pods {
		name := p.Metadata.Name
		if !p.HasEnded() {
			err := in.Run(ctx, nil, nil, "wait", "pod/"+name, "--for=jsonpath={.status.phase}=Succeeded", "--timeout", idleTimeout.String())
			if why := new(command.Error); errors.As(err, &why) && !strings.Contains(why.Output, "NotFound") {
				return fmt.Errorf("another `toskose volume` copies a volume: pod %q still runs (%w)", name, why.Err)
			}
		}
		if err := in.Run(ctx, nil, nil, "delete", "pod", name, "--ignore-not-found", "--wait"); err != nil {
			return fmt.Errorf("cannot remove pod %q: %w", name, err)
		}
	}
	return nil
}

// idleTimeout is how long a pod may take to complete after its command was killed: one minute, plus a margin.
const idleTimeout = 90 * time.Second

// Stop scales down the workload of a pod. It fails if the pod has no workload that could start it again.
func (c *cluster) Stop(ctx context.Context, u User) error {
	if u.Service == "" {
		return fmt.Errorf("pod %q belongs to no workload that would start it again: stop and start it yourself", u.Name)
	}
	w, err := c.Object(ctx, "get", u.Service)
	if err != nil {
		return fmt.Errorf("cannot stop pod %q: %w", u.Name, err)
	}
	if isOfOperator(w) && !c.paused {
		if err := c.setPaused(ctx, true); err != nil {
			return fmt.Errorf("cannot stop pod %q: %w", u.Name, err)
		}
		c.paused = true
	}
	if _, stopped := c.replicas[u.Service]; !stopped {
		c.replicas[u.Service] = w.Replicas()
		if err := c.Run(ctx, nil, nil, "annotate", "--overwrite", u.Service, fmt.Sprintf("%s=%d", annotationReplicas, w.Replicas())); err != nil {
			return fmt.Errorf("cannot store the number of replicas of %q: %w", u.Service, err)
		}
	}
	if err := c.scale(ctx, u.Service, 0); err != nil {
		return fmt.Errorf("cannot stop pod %q: %w", u.Name, err)
	}
	err = c.Run(ctx, nil, nil, "wait", "--for=delete", "pod/"+u.Name, "--timeout", stopTimeout.String())
	if why := new(command.Error); errors.As(err, &why) && strings.Contains(why.Output, "NotFound") {
		return nil // already removed
	}
	if err != nil {
		return fmt.Errorf("cannot stop pod %q: %w", u.Name, err)
	}
	return nil
}

// stopTimeout is how long a pod may take to terminate.
const stopTimeout = 5 * time.Minute

// Start scales the workload of a pod up again and waits until its pods are ready, because components in other containers
// require them.
func (c *cluster) Start(ctx context.Context, u User) error {
	replicas, stopped := c.replicas[u.Service]
	if !stopped {
		return nil // it is still running
	}
	err := c.scale(ctx, u.Service, replicas)
	if err == nil {
		delete(c.replicas, u.Service)
		err = errors.Join(c.Run(ctx, nil, nil, "annotate", u.Service, annotationReplicas+"-"), c.Run(ctx, nil, nil, "rollout", "status", u.Service))
	}
	if err != nil {
		return fmt.Errorf("cannot start %q again: %w", u.Service, err)
	}
	if c.paused && len(c.replicas) == 0 {
		c.paused = false
		return c.setPaused(ctx, false)
	}
	return nil
}

func (c *cluster) scale(ctx context.Context, workload string, replicas int) error {
	return c.Run(ctx, nil, nil, "scale", workload, fmt.Sprintf("--replicas=%d", replicas))
}

// template returns the workload of the application's manager and the workloads that mount a claim. If the cluster has none of
// them, they are read from the folder.
func (c *cluster) template(ctx context.Context, claim string) (manager command.Object, users []command.Object, err error) {
	found, err := c.objects(ctx)
	if err != nil {
		return manager, nil, err
	}
	isManager := func(o command.Object) bool {
		_, ok := o.Spec.Template.Spec.Manager()
		return ok && isWorkload(o)
	}
	if !slices.ContainsFunc(found, isManager) && c.dir != "" {
		if found, err = c.Objects(ctx, "apply", "--kustomize", c.dir, "--dry-run=client"); err != nil {
			return manager, nil, fmt.Errorf("cannot read the manifests of %q: %w", c.dir, err)
		}
		for _, o := range found {
			found = append(found, o.Workloads()...)
		}
	}
	for _, o := range found {
		if isManager(o) {
			manager = o
		}
		if isWorkload(o) && o.Spec.Template.Spec.Claims(claim) {
			users = append(users, o)
		}
	}
	if manager.Kind == "" {
		return manager, nil, fmt.Errorf("the manager of %q, whose image copies volumes, is not in namespace %q: deploy the application, or name its folder", c.about.App, c.about.Namespace)
	}
	return manager, users, nil
}

func isWorkload(o command.Object) bool { return o.Kind == "Deployment" || o.Kind == "StatefulSet" }
