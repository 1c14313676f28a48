package running

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Error is why kubectl has failed.
type Error struct {
	Words []string // of the command
	Said  string   // on its stderr
	Err   error
}

func (e *Error) Error() string {
	return fmt.Sprintf("`%s`: %v: %s", strings.Join(e.Words, " "), e.Err, e.Said)
}

func (e *Error) Unwrap() error { return e.Err }

// reading is how long it may take to read what kubectl has printed before it ended.
const reading = time.Minute

// Run runs kubectl, which reads in and prints to out. Either may be nil.
func (c Cluster) Run(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	words := []string{"kubectl"}
	if c.Context != "" {
		words = append(words, "--context", c.Context)
	}
	words = append(words, args...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var said bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.Environ, in, out, &said, reading
	if err := cmd.Run(); err != nil {
		return errors.Join(ctx.Err(), &Error{words, strings.TrimSpace(said.String()), err})
	}
	return nil
}

// kubectl returns what the command prints.
func (c Cluster) kubectl(ctx context.Context, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := c.Run(ctx, nil, &out, args...)
	return out.Bytes(), err
}

// Objects reads what kubectl prints as JSON into what v leads to.
func (c Cluster) Objects(ctx context.Context, v any, args ...string) error {
	out, err := c.kubectl(ctx, append(args, "--output", "json")...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, v); err != nil {
		return fmt.Errorf("cannot read what kubectl answers: %w", err)
	}
	return nil
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
	Kind     string `json:"kind"`
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
		kubernetes.JobStatus
		Replicas int `json:"readyReplicas"`
	} `json:"status"`
}

// containers are those that are up, and those that should be. A Job is one until it has done
// its work.
func (w workload) containers() (up, of int) {
	switch {
	case w.Kind == "Job" && w.Status.Complete():
		return 0, 0
	case w.Kind == "Job" && w.Status.Up():
		return 1, 1
	case w.Kind == "Job" || w.Spec.Replicas == nil:
		return w.Status.Replicas, 1
	}
	return w.Status.Replicas, *w.Spec.Replicas
}

// Applications returns those on the cluster, in one namespace or, if that is empty, in all.
func (c Cluster) Applications(ctx context.Context, namespace string) ([]Application, error) {
	var list struct {
		Items []workload `json:"items"`
	}
	where := []string{"--all-namespaces"}
	if namespace != "" {
		where = []string{"--namespace", namespace}
	}
	if err := c.Objects(ctx, &list, append([]string{"get", "deployments.apps,statefulsets.apps,jobs.batch", "--selector", kubernetes.Managed}, where...)...); err != nil {
		return nil, err
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
		up, of := w.containers()
		a.Up, a.Of = a.Up+up, a.Of+of
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
