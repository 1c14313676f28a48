package running

import (
	"context"
	"strconv"

	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/kubernetes"
)

// OnCluster returns the applications in the cluster's namespace or, if that is empty, in all namespaces.
func OnCluster(ctx context.Context, on command.Cluster) ([]Application, error) {
	words := []string{"get", "deployments.apps,statefulsets.apps,jobs.batch", "--selector", kubernetes.Managed}
	if on.Namespace == "" {
		words = append(words, "--all-namespaces")
	}
	workloads, err := on.Objects(ctx, words...)
	if err != nil {
		return nil, err
	}
	found := map[string]*Application{}
	for _, w := range workloads {
		name := kubernetes.ApplicationOf(w.Metadata.Labels)
		on.Namespace = w.Metadata.Namespace
		key := on.Namespace + "/" + name
		a := found[key]
		if a == nil {
			a = &Application{Name: name, Target: onKubernetes, Namespace: on.Namespace}
			found[key] = a
		}
		up, of := pods(w)
		a.Up, a.Of = a.Up+up, a.Of+of
		if c, ok := w.Spec.Template.Spec.Manager(); ok {
			text, _ := c.Variable(command.ManagerPort)
			if port, err := strconv.Atoi(text); err == nil {
				_, tls := c.Variable(managerTLS)
				a.Manager, a.Forward = address(tls, "localhost", port), on.ForwardLine(w.Metadata.Name, port)
			}
		}
	}
	return values(found), nil
}

// pods returns how many pods of a workload are ready and how many it should have. A Job has one pod until it is complete.
func pods(w command.Object) (up, of int) {
	switch {
	case w.IsJob() && w.Holds("Complete"):
		return 0, 0
	case w.IsJob() && w.JobUp():
		return 1, 1
	}
	return w.Status.Ready, w.Replicas()
}
