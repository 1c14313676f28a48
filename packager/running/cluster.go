package running

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/kubernetes"
)

// Cluster is the one that kubectl is set to.
type Cluster struct {
	Context string   // of kubectl's; empty: its current one
	Environ []string // KUBECONFIG says where it is
}

// kubectl returns what the command prints.
func (c Cluster) kubectl(ctx context.Context, args ...string) ([]byte, error) {
	if c.Context != "" {
		args = append([]string{"--context", c.Context}, args...)
	}
	cmd := exec.CommandContext(ctx, "kubectl", args...)
	var out, said bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.Environ, &out, &said, time.Second
	if err := cmd.Run(); err != nil {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("`kubectl %s`: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String())))
	}
	return out.Bytes(), nil
}

// Configured reports whether kubectl is there and knows a cluster.
func (c Cluster) Configured(ctx context.Context) bool {
	if c.Context != "" {
		return true
	}
	_, err := c.kubectl(ctx, "config", "current-context")
	return err == nil
}

// workload is what is read of one.
type workload struct {
	Metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Replicas *int `json:"replicas"`
		Template struct {
			Spec struct {
				Containers []struct {
					Env []struct {
						Name  string `json:"name"`
						Value string `json:"value"`
					} `json:"env"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		Ready int `json:"readyReplicas"`
	} `json:"status"`
}

// Applications returns those on the cluster.
func (c Cluster) Applications(ctx context.Context) ([]Application, error) {
	out, err := c.kubectl(ctx, "get", "deployments.apps,statefulsets.apps", "--all-namespaces", "--selector", kubernetes.Managed, "--output", "json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []workload `json:"items"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("cannot read what kubectl answers: %w", err)
	}
	found := map[string]*Application{}
	for _, w := range list.Items {
		name := kubernetes.ApplicationOf(w.Metadata.Labels)
		key := w.Metadata.Namespace + "/" + name
		a := found[key]
		if a == nil {
			a = &Application{Name: name, Target: onKubernetes, Namespace: w.Metadata.Namespace}
			found[key] = a
		}
		if w.Spec.Replicas == nil {
			a.Of++
		} else {
			a.Of += *w.Spec.Replicas
		}
		a.Up += w.Status.Ready
		w.manager(a, c.Context)
	}
	return values(found), nil
}

// manager says where the manager of an application is, if it is this workload.
func (w workload) manager(a *Application, at string) {
	for _, c := range w.Spec.Template.Spec.Containers {
		var env []string
		port := 0
		for _, v := range c.Env {
			env = append(env, v.Name+"="+v.Value)
			if n, err := strconv.Atoi(v.Value); v.Name == "TOSKOSE_MANAGER_PORT" && err == nil {
				port = n
			}
		}
		if port == 0 {
			continue
		}
		a.Manager = address(env, "localhost", port)
		if at != "" {
			at = "--context " + at + " "
		}
		a.Forward = fmt.Sprintf("kubectl %s--namespace %s port-forward service/%s %d", at, a.Namespace, w.Metadata.Name, port)
	}
}
