// Package retire removes the Node of a machine from its cluster: through the caller's kubectl, and only if the cluster survives it. It
// starts no goroutine.
package retire

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/packager/command"
)

// Options describe the cluster.
type Options struct {
	Kubectl command.Cluster
	Drain   time.Duration // time limit for moving the pods of the machine
	Say     func(format string, args ...any)
}

// hostname is the label by which pods select one machine.
const hostname = "kubernetes.io/hostname"

// Check returns an error if the cluster would not survive the removal of a machine: if the servers that remain and respond would not be a
// majority, or if a pod can run only on that machine.
func Check(ctx context.Context, d edge.Document, name string, o Options) error {
	nodes, err := o.nodes(ctx)
	if err != nil {
		return err
	}
	if err := majority(d, name, nodes); err != nil {
		return err
	}
	pods, err := o.bound(ctx, name)
	if err != nil {
		return err
	}
	if len(pods) > 0 {
		return fmt.Errorf("%s can run only on %q: change the placement, or remove it, first", strings.Join(pods, ", "), name)
	}
	return nil
}

// Leave cordons a machine, drains it and deletes its Node. A Node that does not exist has left already.
func Leave(ctx context.Context, name string, o Options) error {
	nodes, err := o.nodes(ctx)
	if err != nil {
		return err
	}
	ready, ok := nodes[name]
	if !ok {
		o.Say("the cluster has no Node %s", name)
		return nil
	}
	if err := o.Kubectl.Run(ctx, nil, nil, "cordon", name); err != nil {
		return err
	}
	drain := []string{"drain", name, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout", o.Drain.String()}
	if !ready { // its pods end only when the Node is deleted
		drain = append(drain, "--skip-wait-for-delete-timeout", "1")
	}
	o.Say("draining %s", name)
	if err := o.Kubectl.Run(ctx, nil, nil, drain...); err != nil {
		return fmt.Errorf("%s is cordoned, but not drained: %w", name, err)
	}
	if err := o.Kubectl.Run(ctx, nil, nil, "delete", "node", name, "--ignore-not-found", "--timeout", o.Drain.String()); err != nil {
		return err
	}
	o.Say("deleted the Node %s", name)
	return nil
}

// nodes returns which Nodes are ready.
func (o Options) nodes(ctx context.Context) (map[string]bool, error) {
	all, err := o.Kubectl.Objects(ctx, "get", "nodes")
	if err != nil {
		return nil, fmt.Errorf("cannot read the machines of the cluster: %w", err)
	}
	ready := map[string]bool{}
	for _, n := range all {
		ready[n.Metadata.Name] = n.Holds("Ready")
	}
	return ready, nil
}

// majority returns an error if etcd would not have a majority without a machine.
func majority(d edge.Document, name string, ready map[string]bool) error {
	if n, _ := d.Node(name); n.Role != edge.Server {
		return nil
	}
	remaining, respond := 0, []string{}
	for _, n := range d.Servers() {
		if _, joined := ready[n.Name]; n.Name == name || !joined {
			continue // a server that has not joined is not a member
		}
		remaining++
		if ready[n.Name] {
			respond = append(respond, n.Name)
		}
	}
	if len(respond) > remaining/2 {
		return nil
	}
	return fmt.Errorf("%d of the %d servers that remain without %q respond (%s), which is not a majority: the cluster would stop", len(respond), remaining, name, strings.Join(respond, ", "))
}

// pod is the part of a pod that is used.
type pod struct {
	Metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
		Owners      []struct {
			Kind string `json:"kind"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Selector map[string]string `json:"nodeSelector"`
		Affinity struct {
			Node struct {
				Required selector `json:"requiredDuringSchedulingIgnoredDuringExecution"`
			} `json:"nodeAffinity"`
		} `json:"affinity"`
		Volumes []struct {
			Claim struct {
				Name string `json:"claimName"`
			} `json:"persistentVolumeClaim"`
		} `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// selector is a node selector: a Node has to match one of the terms.
type selector struct {
	Terms []struct {
		Expressions []requirement `json:"matchExpressions"`
		Fields      []requirement `json:"matchFields"`
	} `json:"nodeSelectorTerms"`
}

type requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// only reports whether no other machine than the named one matches.
func (s selector) only(name string) bool {
	for _, t := range s.Terms {
		pins := func(r requirement) bool {
			return (r.Key == hostname || r.Key == "metadata.name") && r.Operator == "In" && len(r.Values) == 1 && r.Values[0] == name
		}
		if !slices.ContainsFunc(t.Expressions, pins) && !slices.ContainsFunc(t.Fields, pins) {
			return false
		}
	}
	return len(s.Terms) > 0
}

// volume is the part of a PersistentVolume that is used.
type volume struct {
	Spec struct {
		Claim struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"claimRef"`
		Affinity struct {
			Required selector `json:"required"`
		} `json:"nodeAffinity"`
	} `json:"spec"`
}

// bound returns the pods that can run only on a machine, as NAMESPACE/NAME, sorted.
func (o Options) bound(ctx context.Context, name string) ([]string, error) {
	var pods []pod
	var volumes []volume
	if err := o.Kubectl.List(ctx, &pods, "get", "pods", "--all-namespaces"); err != nil {
		return nil, fmt.Errorf("cannot read the pods of the cluster: %w", err)
	}
	if err := o.Kubectl.List(ctx, &volumes, "get", "persistentvolumes"); err != nil {
		return nil, fmt.Errorf("cannot read the volumes of the cluster: %w", err)
	}
	local := map[string]bool{}
	for _, v := range volumes {
		if v.Spec.Affinity.Required.only(name) {
			local[v.Spec.Claim.Namespace+"/"+v.Spec.Claim.Name] = true
		}
	}
	var all []string
	for _, p := range pods {
		if p.isBound(name, local) {
			all = append(all, "pod "+p.Metadata.Namespace+"/"+p.Metadata.Name)
		}
	}
	slices.Sort(all)
	return all, nil
}

// isBound reports whether a pod can run only on a machine. Pods of a DaemonSet and static pods end with the machine.
func (p pod) isBound(name string, local map[string]bool) bool {
	if p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" || p.Metadata.Annotations["kubernetes.io/config.mirror"] != "" {
		return false
	}
	for _, owner := range p.Metadata.Owners {
		if owner.Kind == "DaemonSet" {
			return false
		}
	}
	for _, v := range p.Spec.Volumes {
		if v.Claim.Name != "" && local[p.Metadata.Namespace+"/"+v.Claim.Name] {
			return true
		}
	}
	return p.Spec.Selector[hostname] == name || p.Spec.Affinity.Node.Required.only(name)
}
