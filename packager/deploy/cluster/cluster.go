// Package cluster runs an application on Kubernetes with kubectl. Close ends the port forwarding to the manager; the package
// starts no other goroutine.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/release"
	"github.com/toskose/toskose/packager/volumes"
)

// Cluster is an application on Kubernetes.
type Cluster struct {
	*backend.Application
	info    kubernetes.Info
	all, in command.Cluster  // the whole cluster, and the application's namespace
	applied []string         // names as kind.group/name
	port    *command.Forward // forwarded port of the manager; nil: none

	external []string // claims of external volumes of removed workloads

	past     map[string]bool // see rollout
	operator *bool           // see hasOperator; nil: not known yet
}

// The kinds of an application's objects, in kubectl's notation. Volume claims are separate because their data outlives a
// deployment.
const (
	workloadKinds = "deployments.apps,statefulsets.apps,jobs.batch"
	runningKinds  = workloadKinds + ",services,networkpolicies.networking.k8s.io"
	secretKinds   = "secrets"
	volumeKinds   = "persistentvolumeclaims"
)

// connectTimeout is the timeout of the first request to the cluster.
const connectTimeout = 20 * time.Second

// Open connects to the cluster of a kubectl context; empty: the current context.
func Open(ctx context.Context, app *backend.Application, info kubernetes.Info, kubectx string) (*Cluster, error) {
	c := &Cluster{Application: app, info: info, all: command.Cluster{Context: kubectx, Environ: app.Environ, Debug: app.Debug}}
	c.in = c.all
	c.in.Namespace = info.Namespace
	return c, c.reachable(ctx)
}

// Name describes where the application runs.
func (c *Cluster) Name() string {
	return fmt.Sprintf("on Kubernetes, in namespace %q", c.info.Namespace)
}

// Lock returns the lock store of the application's namespace. For a first deployment, it may create the namespace.
func (c *Cluster) Lock(first bool) lock.Store {
	var makeNamespace func(context.Context) error
	if first && c.info.OwnNamespace && c.Dir != "" {
		makeNamespace = func(ctx context.Context) error {
			return c.all.Run(ctx, nil, nil, "apply", "--filename", c.File(kubernetes.NamespaceManifest))
		}
	}
	return lock.OnCluster(c.in, c.Info.App, makeNamespace)
}

func (c *Cluster) reachable(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, fmt.Errorf("no answer in %s", connectTimeout))
	defer cancel()
	_, err := c.all.Output(ctx, "version", "--output", "json")
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("`kubectl` is not installed; install it, and point it at a cluster")
	}
	if err != nil {
		return fmt.Errorf("cannot reach the Kubernetes cluster, which --context or KUBECONFIG names: %w", err)
	}
	return nil
}

// list returns the names of the application's objects as kind.group/name.
func (c *Cluster) list(ctx context.Context, kinds string) ([]string, error) {
	return c.in.Names(ctx, kinds, "--selector", c.info.Selector)
}

// Existing looks for the application, and records its pods: their earlier failures do not count for this deployment.
func (c *Cluster) Existing(ctx context.Context) (backend.Existing, error) {
	running, err := c.list(ctx, workloadKinds)
	if err != nil {
		return backend.Existing{}, err
	}
	if len(running) > 0 {
		r, err := c.observe(ctx)
		if err != nil {
			return backend.Existing{}, err
		}
		c.past = map[string]bool{}
		for _, p := range r.pods {
			c.past[p.Metadata.UID] = true
		}
	}
	volumes, err := c.claims(ctx)
	return backend.Existing{Running: len(running) > 0, Data: len(volumes) > 0}, err
}

// Apply applies the manifests and removes objects that only an earlier version of the application had. The manager notices new
// pods itself, so Apply reports no node as renewed.
func (c *Cluster) Apply(ctx context.Context, log release.Log) (renewed map[string]bool, err error) {
	return nil, c.apply(ctx, log)
}

func (c *Cluster) apply(ctx context.Context, log release.Log) error {
	if err := errors.Join(c.leaveOperator(ctx), c.Record(ctx, log)); err != nil {
		return err
	}
	out, err := c.all.Output(ctx, "apply", "--kustomize", c.Dir)
	if err != nil {
		return err
	}
	changed := false
	for line := range strings.Lines(string(out)) {
		name, what, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || !strings.Contains(name, "/") {
			continue
		}
		c.applied = append(c.applied, name)
		if what != "unchanged" {
			changed = true
			c.Say("%s: %s", name, what)
		}
	}
	if !changed {
		c.Say("%s: unchanged", c.Info.App)
	}
	if err := c.Record(ctx, log); err != nil {
		return err
	}
	return c.prune(ctx, runningKinds)
}

// CleanUp removes outdated secrets. They stay until all units answer, because a container that is being replaced may restart
// once more.
func (c *Cluster) CleanUp(ctx context.Context) error { return c.prune(ctx, secretKinds) }

func (c *Cluster) prune(ctx context.Context, kinds string) error {
	all, err := c.list(ctx, kinds)
	if err != nil {
		return err
	}
	old, err := c.free(ctx, slices.DeleteFunc(all, func(name string) bool { return slices.Contains(c.applied, name) }))
	if err != nil || len(old) == 0 {
		return err
	}
	if err := c.in.Run(ctx, nil, nil, append([]string{"delete", "--ignore-not-found", "--cascade=foreground"}, old...)...); err != nil {
		return err
	}
	for _, name := range old {
		c.Say("%s: removed, it is no longer part of the application", name)
	}
	return nil
}

// Down removes the application except for its volumes, and waits until it is removed.
func (c *Cluster) Down(ctx context.Context, _ release.Log) error {
	if err := volumes.RemovePods(ctx, c.in, c.Info.App); err != nil {
		return err
	}
	if err := c.recordExternal(ctx); err != nil {
		return err
	}
	if err := c.removeApplications(ctx); err != nil {
		return err
	}
	if err := c.remove(ctx, runningKinds+","+secretKinds); err != nil {
		return err
	}
	return c.removeNamespace(ctx)
}

// RemoteResources lists the resources that stay on the cluster's machines.
func (c *Cluster) RemoteResources(_ context.Context, removal backend.Removal) ([]string, error) {
	if !removal.Images {
		return nil, nil
	}
	return []string{"images stay on the machines of the cluster, which remove unused images when they need the space"}, nil
}

// RemoveDocuments does nothing: the documents that units store are removed with their pods.
func (c *Cluster) RemoveDocuments(context.Context) error { return nil }

// recordExternal records the claims of external volumes in the annotations of workloads that are about to be removed, so that
// they are not removed as volumes of the application. Such a claim may have the application's labels, if an earlier release
// created it.
func (c *Cluster) recordExternal(ctx context.Context) error {
	workloads, err := c.in.Objects(ctx, "get", workloadKinds, "--selector", c.info.Selector)
	for _, w := range workloads {
		c.external = slices.AppendSeq(c.external, maps.Values(packager.ReadExternal(w.Metadata.Annotations)))
	}
	return err
}

// claims returns the names of the application's volume claims, without those of external volumes.
func (c *Cluster) claims(ctx context.Context) ([]string, error) {
	all, err := c.list(ctx, volumeKinds)
	external := slices.AppendSeq(slices.Clone(c.external), maps.Values(c.info.ExternalVolumes))
	return slices.DeleteFunc(all, func(name string) bool {
		_, name, _ = strings.Cut(name, "/")
		return slices.Contains(external, name)
	}), err
}

// RemoveVolumes removes the volume claims, except those of external volumes.
func (c *Cluster) RemoveVolumes(ctx context.Context) error {
	volumes, err := c.claims(ctx)
	if err != nil || len(volumes) == 0 {
		return err
	}
	if err := c.in.Run(ctx, nil, nil, append([]string{"delete", "--ignore-not-found", "--cascade=foreground", "--wait"}, volumes...)...); err != nil {
		return notRemoved(ctx, err)
	}
	for _, v := range volumes {
		_, name, _ := strings.Cut(v, "/")
		c.Say("%s: removed volume %s", c.Info.App, name)
	}
	return c.removeNamespace(ctx)
}

// remove deletes objects and waits until their pods are deleted too (cascade=foreground).
func (c *Cluster) remove(ctx context.Context, kinds string) error {
	return notRemoved(ctx, c.in.Run(ctx, nil, nil, "delete", kinds, "--selector", c.info.Selector, "--cascade=foreground", "--wait"))
}

// notRemoved returns the error of a removal, which may have timed out.
func notRemoved(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("not everything is removed: %w", ctx.Err())
	}
	return err
}

// removeNamespace removes the application's own namespace unless it still contains the application's volumes or other objects.
func (c *Cluster) removeNamespace(ctx context.Context) error {
	if !c.info.OwnNamespace {
		return nil
	}
	ours, err := c.all.Names(ctx, "namespaces", "--selector", c.info.Selector)
	if err != nil || !slices.Contains(ours, "namespace/"+c.info.Namespace) {
		return err
	}
	left, err := c.in.Names(ctx, "all,configmaps,secrets,serviceaccounts,ingresses.networking.k8s.io,"+volumeKinds)
	if err != nil {
		return err
	}
	if names := slices.DeleteFunc(left, isEverywhere); len(names) > 0 {
		c.Say("%s: the namespace stays, with %s in it", c.info.Namespace, strings.Join(names, ", "))
		return nil
	}
	return c.all.Run(ctx, nil, nil, "delete", "namespace", c.info.Namespace, "--ignore-not-found", "--wait")
}

// isEverywhere reports whether the cluster creates an object in every namespace.
func isEverywhere(name string) bool {
	return slices.Contains([]string{"configmap/kube-root-ca.crt", "configmap/openshift-service-ca.crt", "serviceaccount/default", "serviceaccount/builder", "serviceaccount/deployer"}, name)
}
