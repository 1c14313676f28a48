package observe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/packager/kubernetes"
)

// State is the state of a machine, as it is seen from the caller.
type State string

// The states.
const (
	Ready    State = "READY"
	NotReady State = "NOTREADY" // the cluster does not consider the machine ready
	Down     State = "DOWN"     // no API server answers
	Absent   State = "ABSENT"   // only in the document
	Stranger State = "STRANGER" // only in the cluster
)

// Status is the state of a cluster.
type Status struct {
	Cluster      string        `json:"cluster"`
	Machines     []Machine     `json:"machines"`
	Applications []Application `json:"applications"`
	Problem      string        `json:"problem,omitempty"` // why the machines are DOWN
}

// Machine is the state of a machine. Its usage includes everything that runs on it.
type Machine struct {
	Name       string     `json:"name"`
	Role       edge.Role  `json:"role,omitempty"`
	Address    string     `json:"address,omitempty"`
	State      State      `json:"state"`
	Since      *time.Time `json:"since,omitempty"` // nil: not known
	Containers *int       `json:"containers,omitempty"`
	Usage      *Usage     `json:"usage,omitempty"`
	Problem    string     `json:"problem,omitempty"` // why the kubelet was not read
}

// Usage is the use of resources, as kubelets report it.
type Usage struct {
	CPU    uint64 `json:"cpu_nanocores"`
	Memory uint64 `json:"memory_bytes"` // working set
}

// Application has the sums over all pods of an application.
type Application struct {
	Name       string   `json:"name"`
	Namespace  string   `json:"namespace"`
	Machines   []string `json:"machines"`
	Pods       int      `json:"pods"`
	Containers int      `json:"containers"`
	Usage      Usage    `json:"usage"`
}

// AllReady reports whether all machines are READY.
func (s Status) AllReady() bool {
	return !slices.ContainsFunc(s.Machines, func(m Machine) bool { return m.State != Ready })
}

// nodeObject is the part of a Node that is used.
type nodeObject struct {
	Metadata struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Status struct {
		Conditions []condition `json:"conditions"`
		Addresses  []struct {
			Type    string `json:"type"`
			Address string `json:"address"`
		} `json:"addresses"`
	} `json:"status"`
}

type condition struct {
	Type   string    `json:"type"`
	Status string    `json:"status"`
	Since  time.Time `json:"lastTransitionTime"`
}

// podObject is the part of a pod that is used.
type podObject struct {
	Metadata struct {
		UID       string            `json:"uid"`
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Volumes []struct {
			Claim struct {
				Name string `json:"claimName"`
			} `json:"persistentVolumeClaim"`
		} `json:"volumes"`
	} `json:"spec"`
}

// summary is the part of a kubelet's statistics that is used.
type summary struct {
	Node measured      `json:"node"`
	Pods []podMeasured `json:"pods"`
}

type measured struct {
	CPU struct {
		Nanocores uint64 `json:"usageNanoCores"`
	} `json:"cpu"`
	Memory struct {
		WorkingSet uint64 `json:"workingSetBytes"`
	} `json:"memory"`
}

type podMeasured struct {
	Ref struct {
		UID string `json:"uid"`
	} `json:"podRef"`
	Containers []struct{} `json:"containers"`
	measured
}

func (m measured) usage() Usage { return Usage{m.CPU.Nanocores, m.Memory.WorkingSet} }

// Status reads the state of a cluster. If no API server answers, that is a state, not an error.
func (c Cluster) Status(ctx context.Context, d edge.Document) (Status, error) {
	s := Status{Cluster: d.Name, Machines: []Machine{}, Applications: []Application{}}
	on, err := c.Reach(ctx)
	var down DownError
	if errors.As(err, &down) && ctx.Err() == nil {
		s.Problem = down.Error()
		for _, n := range d.Nodes {
			s.Machines = append(s.Machines, Machine{Name: n.Name, Role: n.Role, Address: n.Address, State: Down})
		}
		return s, nil
	}
	if err != nil {
		return Status{}, err
	}
	var nodes []nodeObject
	var pods []podObject
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() error { return on.list(reading, &nodes, "nodes") })
	group.Go(func() error { return on.list(reading, &pods, "pods", "--all-namespaces") })
	if err := group.Wait(); err != nil {
		return Status{}, err
	}
	s.Machines = machines(d, nodes)
	s.Applications = applicationsOf(s.Machines, on.measure(ctx, s.Machines), pods)
	return s, nil
}

// machines compares the document with the cluster: in the order of the document, and strangers at the end.
func machines(d edge.Document, nodes []nodeObject) []Machine {
	all := []Machine{}
	for _, n := range d.Nodes {
		m := Machine{Name: n.Name, Role: n.Role, Address: n.Address, State: Absent}
		if i := slices.IndexFunc(nodes, func(o nodeObject) bool { return o.Metadata.Name == n.Name }); i >= 0 {
			m.State, m.Since = nodes[i].state()
		}
		all = append(all, m)
	}
	for _, o := range nodes {
		if _, ok := d.Node(o.Metadata.Name); ok {
			continue
		}
		m := Machine{Name: o.Metadata.Name, State: Stranger}
		_, m.Since = o.state()
		for _, a := range o.Status.Addresses {
			if a.Type == "InternalIP" {
				m.Address = a.Address
			}
		}
		all = append(all, m)
	}
	return all
}

// state returns the state by the condition Ready of the Node, and since when it has that state.
func (o nodeObject) state() (State, *time.Time) {
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			state := NotReady
			if c.Status == "True" {
				state = Ready
			}
			return state, &c.Since
		}
	}
	return NotReady, nil
}

// maxParallel is the number of kubelets that are read at the same time.
const maxParallel = 8

// measure reads the kubelets of the machines that respond, and completes the machines. The result has the pods of each.
func (c Cluster) measure(ctx context.Context, all []Machine) [][]podMeasured {
	pods := make([][]podMeasured, len(all))
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i := range all {
		m := &all[i]
		if m.State != Ready && m.State != Stranger {
			continue
		}
		group.Go(func() error {
			pods[i] = c.measureOne(ctx, m)
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	return pods
}

// measureOne reads the kubelet of a machine, and returns its pods. A kubelet that does not respond is a problem of the machine.
func (c Cluster) measureOne(ctx context.Context, m *Machine) []podMeasured {
	s, err := c.summary(ctx, m.Name)
	if err != nil {
		m.Problem = err.Error()
		return nil
	}
	usage, containers := s.Node.usage(), 0
	for _, p := range s.Pods {
		containers += len(p.Containers)
	}
	m.Usage, m.Containers = &usage, &containers
	return s.Pods
}

// summary reads the statistics of a kubelet through the API server.
func (c Cluster) summary(ctx context.Context, node string) (summary, error) {
	out, err := c.get(ctx, "--raw", "/api/v1/nodes/"+node+"/proxy/stats/summary")
	if err != nil {
		return summary{}, fmt.Errorf("the kubelet does not respond: %w", err)
	}
	var s summary
	if err := json.Unmarshal(out, &s); err != nil {
		return summary{}, fmt.Errorf("cannot decode the statistics of the kubelet: %w", err)
	}
	return s, nil
}

// applicationsOf sums the pods of each application that Toskose has packaged.
func applicationsOf(all []Machine, measured [][]podMeasured, pods []podObject) []Application {
	byUID := map[string]podObject{}
	for _, p := range pods {
		byUID[p.Metadata.UID] = p
	}
	found := map[[2]string]*Application{}
	for i, m := range all {
		for _, p := range measured[i] {
			pod := byUID[p.Ref.UID]
			name := applicationOf(pod.Metadata.Labels)
			if name == "" {
				continue
			}
			key := [2]string{pod.Metadata.Namespace, name}
			a := found[key]
			if a == nil {
				a = &Application{Name: name, Namespace: pod.Metadata.Namespace}
				found[key] = a
			}
			if !slices.Contains(a.Machines, m.Name) {
				a.Machines = append(a.Machines, m.Name)
			}
			a.Pods++
			a.Containers += len(p.Containers)
			a.Usage.CPU += p.CPU.Nanocores
			a.Usage.Memory += p.Memory.WorkingSet
		}
	}
	sums := []Application{}
	for _, a := range found {
		sums = append(sums, *a)
	}
	slices.SortFunc(sums, func(a, b Application) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Namespace, b.Namespace))
	})
	return sums
}

// applicationOf returns the application of an object by its labels, or "" if Toskose did not make it.
func applicationOf(labels map[string]string) string {
	app, _ := kubernetes.Info{}.Owner(labels)
	return app
}
