package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/operator/levels"
	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/release"
)

// The kinds of an application below a level, in kubectl's notation.
var (
	applicationKind = levels.Application.Resource()
	componentKind   = levels.Component.Resource()
)

// resource is the part of an Application or Component that is used.
type resource struct {
	Metadata struct {
		Name        string            `json:"name"`
		UID         string            `json:"uid"`
		Generation  int64             `json:"generation"`
		Annotations map[string]string `json:"annotations"`
		Owners      []command.Owner   `json:"ownerReferences"`
	} `json:"metadata"`
	Status struct {
		Observed   int64               `json:"observedGeneration"`
		Ready      string              `json:"ready"`
		Conditions []command.Condition `json:"conditions"`
		Components []struct {
			Name string `json:"name"`
		} `json:"components"`
	} `json:"status"`
}

// problem returns the message of a condition that keeps the operator from carrying out a resource, or "".
func (r resource) problem() string {
	for _, c := range r.Status.Conditions {
		if (c.Type == "Conflict" || c.Type == "Invalid") && c.Status == "True" {
			return c.Message
		}
	}
	return ""
}

// hasOperator reports whether the cluster has the kinds of Toskose's operator. An application that is not below a level does not
// depend on the answer: the list may be incomplete while another API of the cluster is down.
func (c *Cluster) hasOperator(ctx context.Context) (bool, error) {
	if c.operator == nil {
		out, err := c.all.Output(ctx, "api-resources", "--api-group="+levels.Group, "--output", "name")
		names := strings.Fields(string(out))
		installed := slices.Contains(names, applicationKind) && slices.Contains(names, componentKind)
		if err != nil && !installed && c.info.Under != "" {
			return false, err
		}
		c.operator = &installed
	}
	return *c.operator, nil
}

// checkOperator returns an error if the folder's application is below a level, and the cluster has no operator.
func (c *Cluster) checkOperator(ctx context.Context) error {
	if c.info.Under == "" {
		return nil
	}
	installed, err := c.hasOperator(ctx)
	if err != nil || installed {
		return err
	}
	option := ""
	if kind, _, ok := strings.Cut(c.info.Under, "/"); ok {
		option = " --levels " + kind
	}
	return fmt.Errorf("install the operator first: `toskose operator%s -o plant`, then `kubectl apply -k plant` (the cluster has no %s)", option, applicationKind)
}

// resources returns the Applications that have the application's labels, or all Components of the namespace.
func (c *Cluster) resources(ctx context.Context, kind string) ([]resource, error) {
	installed, err := c.hasOperator(ctx)
	if err != nil || !installed {
		return nil, err
	}
	words := []string{"get", kind, "--output", "json"}
	if kind == applicationKind {
		words = append(words, "--selector", c.info.Selector)
	}
	out, err := c.in.Output(ctx, words...)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	var list struct {
		Items []resource `json:"items"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("cannot decode the output of kubectl: %w", err)
	}
	return list.Items, nil
}

// applications returns the names of the application's Applications, as kind.group/name.
func (c *Cluster) applications(ctx context.Context) ([]string, error) {
	all, err := c.resources(ctx, applicationKind)
	var names []string
	for _, a := range all {
		names = append(names, levels.Application.Singular+"."+levels.Group+"/"+a.Metadata.Name)
	}
	return names, err
}

// controlled returns the names of workloads that have a controller: the operator has made them.
func (c *Cluster) controlled(ctx context.Context) ([]string, error) {
	all, err := c.in.Objects(ctx, "get", workloadKinds, "--selector", c.info.Selector)
	var names []string
	for _, o := range all {
		if o.IsControlled() {
			names = append(names, groups[o.Kind]+"/"+o.Metadata.Name)
		}
	}
	return names, err
}

// groups are the kinds of workloads, as kubectl prints them.
var groups = map[string]string{"Deployment": "deployment.apps", "StatefulSet": "statefulset.apps", "Job": "job.batch"}

// free returns names without the workloads that have a controller.
func (c *Cluster) free(ctx context.Context, names []string) ([]string, error) {
	isWorkload := func(name string) bool {
		kind, _, _ := strings.Cut(name, "/")
		return kind == groups["Deployment"] || kind == groups["StatefulSet"] || kind == groups["Job"]
	}
	if !slices.ContainsFunc(names, isWorkload) {
		return names, nil
	}
	controlled, err := c.controlled(ctx)
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(controlled, name) }), err
}

// recorded returns the objects that have the log of releases: the Applications, and workloads without a controller.
func (c *Cluster) recorded(ctx context.Context) ([]string, error) {
	names, err := c.applications(ctx)
	if err != nil {
		return nil, err
	}
	workloads, err := c.list(ctx, workloadKinds)
	if err != nil {
		return nil, err
	}
	workloads, err = c.free(ctx, workloads)
	return append(names, workloads...), err
}

// addApplications adds the logs of releases of the Applications.
func (c *Cluster) addApplications(ctx context.Context, logs map[string]release.Log) error {
	all, err := c.resources(ctx, applicationKind)
	for _, a := range all {
		logs["application "+a.Metadata.Name] = release.Decode(a.Metadata.Annotations[release.Label])
	}
	return err
}

// removeApplications removes the Applications and waits until the workloads that the operator made are removed.
func (c *Cluster) removeApplications(ctx context.Context) error {
	names, err := c.applications(ctx)
	if err != nil || len(names) == 0 {
		return err
	}
	return notRemoved(ctx, c.in.Run(ctx, nil, nil, append([]string{"delete", "--ignore-not-found", "--cascade=foreground", "--wait"}, names...)...))
}

// leaveOperator removes the Applications of an application that is no longer below a level: its workloads are made anew.
func (c *Cluster) leaveOperator(ctx context.Context) error {
	if c.info.Under != "" {
		return nil
	}
	names, err := c.applications(ctx)
	if err != nil || len(names) == 0 {
		return err
	}
	c.Say("%s: removing the workloads that the operator made", c.Info.App)
	return c.removeApplications(ctx)
}

// pollInterval is the time between two requests for the state of the operator's resources.
const pollInterval = 300 * time.Millisecond

// AwaitOperator waits until the operator has carried out the applied manifests. It reports whether it has stored the application:
// the level above is not deployed.
func (c *Cluster) AwaitOperator(ctx context.Context) (stored bool, err error) {
	if c.info.Under == "" {
		return false, nil
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		stored, why, err := c.lookAtOperator(ctx)
		if why == "" && err == nil {
			return stored, nil
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("%w: %w", context.Cause(ctx), errors.Join(err, errors.New(why)))
		case <-ticker.C:
		}
	}
}

// lookAtOperator returns the next thing that the operator has to carry out, or "".
func (c *Cluster) lookAtOperator(ctx context.Context) (stored bool, why string, err error) {
	all, err := c.resources(ctx, applicationKind)
	if err != nil {
		return false, "", err
	}
	if len(all) == 0 {
		return false, "the cluster has no Application of it", nil
	}
	components, err := c.resources(ctx, componentKind)
	if err != nil {
		return false, "", err
	}
	for _, a := range all {
		switch {
		case a.Status.Observed < a.Metadata.Generation:
			return false, "the operator has not seen the application: is it running?", nil
		case a.problem() != "":
			return false, a.problem(), nil
		case a.Status.Ready == levels.Stored:
			return true, "", nil
		}
		seen := 0
		for _, o := range components {
			isOwner := func(by command.Owner) bool { return by.UID == a.Metadata.UID }
			if !slices.ContainsFunc(o.Metadata.Owners, isOwner) {
				continue
			}
			if o.problem() != "" {
				return false, fmt.Sprintf("component %q: %s", o.Metadata.Name, o.problem()), nil
			}
			if o.Status.Observed == o.Metadata.Generation {
				seen++
			}
		}
		if seen < len(a.Status.Components) {
			return false, fmt.Sprintf("the operator has seen %d of %d components", seen, len(a.Status.Components)), nil
		}
	}
	return false, "", nil
}
