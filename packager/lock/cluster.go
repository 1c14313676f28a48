package lock

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/kubernetes"
)

// onCluster stores a lock in an annotation of a Lease. The API server rejects a replacement or deletion with an outdated
// resourceVersion.
type onCluster struct {
	kubectl command.Cluster // in the application's namespace
	app     string          // label value of the application's name
	make    func(context.Context) error
}

// ErrNoNamespace is returned when a lock cannot be created because its namespace does not exist.
var ErrNoNamespace = errors.New("the namespace does not exist")

// OnCluster returns the lock store of an application in a namespace of a cluster. If the namespace does not exist, Create
// calls makeNamespace to create it; if makeNamespace is nil, Create fails with ErrNoNamespace.
func OnCluster(in command.Cluster, app string, makeNamespace func(context.Context) error) Store {
	return onCluster{in, kubernetes.LabelOf(app), makeNamespace}
}

// lease contains the fields of a Lease that are used.
type lease struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name            string            `json:"name"`
		Namespace       string            `json:"namespace,omitempty"`
		ResourceVersion string            `json:"resourceVersion,omitempty"`
		Deleted         string            `json:"deletionTimestamp,omitempty"`
		Labels          map[string]string `json:"labels,omitempty"`
		Annotations     map[string]string `json:"annotations,omitempty"`
	} `json:"metadata"`
	Spec struct {
		Holder   string `json:"holderIdentity,omitempty"`
		Duration int    `json:"leaseDurationSeconds,omitempty"`
	} `json:"spec"`
}

func (c onCluster) name() string { return c.app + "-toskose-lock" }

func (c onCluster) of(r Record, version string) lease {
	l := lease{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	l.Metadata.Name, l.Metadata.Namespace, l.Metadata.ResourceVersion = c.name(), c.kubectl.Namespace, version
	l.Metadata.Labels = kubernetes.LabelsOf(c.app)
	l.Metadata.Annotations = map[string]string{labelApp: c.app, labelRecord: encode(r)}
	l.Spec.Holder, l.Spec.Duration = fmt.Sprintf("%s %d %s", r.Owner, r.Process, r.ID), int(TTL.Seconds())
	return l
}

func (c onCluster) Read(ctx context.Context) (*Record, string, error) {
	out, err := c.kubectl.Output(ctx, "get", "leases.coordination.k8s.io", c.name(), "--ignore-not-found", "--output", "json")
	if err != nil {
		return nil, "", c.explained("read", err)
	}
	if len(bytes.TrimSpace(out)) == 0 {
		return nil, "", nil
	}
	var l lease
	if err := json.Unmarshal(out, &l); err != nil {
		return nil, "", fmt.Errorf("cannot read the lock of %q: %w", c.app, err)
	}
	if l.Metadata.Annotations[labelApp] != c.app {
		return nil, "", fmt.Errorf("cannot lock %q: lease %q in namespace %q is not a lock of toskose: rename or remove it", c.app, c.name(), c.kubectl.Namespace)
	}
	r, err := decode(l.Metadata.Annotations[labelRecord])
	return r, l.Metadata.ResourceVersion, err
}

func (c onCluster) Create(ctx context.Context, r Record) (string, error) {
	version, err := c.put(ctx, "create", c.of(r, ""))
	if !errors.Is(err, ErrNoNamespace) || c.make == nil {
		return version, err
	}
	if err := c.make(ctx); err != nil {
		return "", err
	}
	return c.put(ctx, "create", c.of(r, ""))
}

func (c onCluster) Replace(ctx context.Context, r Record, version string) (string, error) {
	now, err := c.put(ctx, "replace", c.of(r, version))
	if errors.Is(err, ErrChanged) && c.isEnding(ctx) {
		return version, nil
	}
	return now, err
}

// isEnding reports whether the namespace is being deleted. The lock is deleted with it, and no new lock can be created.
func (c onCluster) isEnding(ctx context.Context) bool {
	all := c.kubectl
	all.Namespace = ""
	out, err := all.Output(ctx, "get", "namespace", c.kubectl.Namespace, "--ignore-not-found", "--output", "jsonpath={.status.phase}")
	return err == nil && string(bytes.TrimSpace(out)) != "Active"
}

func (c onCluster) put(ctx context.Context, verb string, l lease) (string, error) {
	data, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := c.kubectl.Run(ctx, bytes.NewReader(data), &out, verb, "--validate=false", "--filename", "-", "--output", "json"); err != nil {
		return "", c.explained(verb, err)
	}
	if err := json.Unmarshal(out.Bytes(), &l); err != nil {
		return "", fmt.Errorf("cannot read the lock of %q: %w", c.app, err)
	}
	return l.Metadata.ResourceVersion, nil
}

func (c onCluster) Remove(ctx context.Context, version string) error {
	precondition, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": map[string]string{"resourceVersion": version},
	})
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases/%s", c.kubectl.Namespace, c.name())
	var out bytes.Buffer
	if err := c.kubectl.Run(ctx, bytes.NewReader(precondition), &out, "delete", "--raw", path, "--filename", "-"); err != nil {
		return c.explained("delete", err)
	}
	return nil
}

// explained translates kubectl's error messages to ErrNoNamespace and ErrChanged.
func (c onCluster) explained(verb string, err error) error {
	var failed *command.Error
	if !errors.As(err, &failed) {
		return fmt.Errorf("cannot lock %q: %w", c.app, err)
	}
	switch output := failed.Output; {
	case verb == "create" && strings.Contains(output, "(NotFound)"):
		return fmt.Errorf("cannot lock %q: %w: %w", c.app, ErrNoNamespace, err)
	case strings.Contains(output, "(AlreadyExists)"), strings.Contains(output, "(Conflict)"), strings.Contains(output, "(NotFound)"):
		return ErrChanged
	case strings.Contains(output, "(Forbidden)"):
		return fmt.Errorf("cannot lock %q: you need the rights to get, create, update and delete leases.coordination.k8s.io in namespace %q: %w", c.app, c.kubectl.Namespace, err)
	}
	return fmt.Errorf("cannot lock %q: %w", c.app, err)
}
