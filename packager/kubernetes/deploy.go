package kubernetes

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
)

// deploy applies the Compose deploy keys to a workload. deployWarnings lists the keys that Kubernetes does not support.
func (w *writer) deploy(s packager.Service, spec *workloadSpec, stateful bool) {
	c := s.Deploy
	if c.Replicas != nil {
		spec.Replicas = *c.Replicas
	}
	pod := &spec.Template.Spec
	pod.Containers[0].Resources = resourcesOf(c.Resources)
	pod.Affinity = affinityOf(c.Placement.Constraints)
	for _, p := range c.Placement.Preferences {
		if key, ok := nodeLabel(p.Spread); ok {
			pod.Spread = append(pod.Spread, topologySpread{1, key, "ScheduleAnyway", spec.Selector})
		}
	}
	if u := c.UpdateConfig; !stateful && (u.Parallelism != nil || u.Order != "") {
		spec.Strategy = strategyOf(u, spec.Replicas)
	}
	if u := c.UpdateConfig; u.Delay != "" && !stateful {
		delay, _ := time.ParseDuration(u.Delay) // already validated
		spec.MinReady = int(delay.Seconds())
	}
}

func resourcesOf(r config.Resources) *resources {
	of := func(a config.Amounts) map[string]string {
		out := map[string]string{}
		if a.CPUs != "" {
			out["cpu"] = a.CPUs
		}
		if n, ok := config.Bytes(a.Memory); ok {
			out["memory"] = strconv.FormatInt(n, 10)
		}
		return out
	}
	out := &resources{Limits: of(r.Limits), Requests: of(r.Reservations)}
	if len(out.Limits) == 0 && len(out.Requests) == 0 {
		return nil
	}
	return out
}

// strategyOf translates Compose's update order and parallelism into a rollout strategy.
func strategyOf(u config.Update, replicas int) *strategy {
	n := 1
	if u.Parallelism != nil {
		n = *u.Parallelism
	}
	if n == 0 {
		n = max(replicas, 1)
	}
	rolling := &rollingUpdate{MaxUnavailable: n}
	if u.Order == "start-first" {
		rolling = &rollingUpdate{MaxSurge: n}
	}
	return &strategy{"RollingUpdate", rolling}
}

// nodeLabel returns the Kubernetes node label that corresponds to a key of a Swarm constraint.
func nodeLabel(key string) (string, bool) {
	if label, ok := strings.CutPrefix(key, "node.labels."); ok {
		return label, true
	}
	label, ok := map[string]string{
		"node.hostname":      "kubernetes.io/hostname",
		"node.platform.os":   "kubernetes.io/os",
		"node.platform.arch": "kubernetes.io/arch",
	}[key]
	return label, ok
}

const controlPlane = "node-role.kubernetes.io/control-plane"

// expressionOf translates a placement constraint.
func expressionOf(constraint string) (expression, bool) {
	key, value, equal, _ := config.Constraint(constraint)
	if key == "node.role" {
		if (value == "manager") == equal {
			return expression{Key: controlPlane, Operator: "Exists"}, true
		}
		return expression{Key: controlPlane, Operator: "DoesNotExist"}, true
	}
	label, ok := nodeLabel(key)
	if !ok {
		return expression{}, false
	}
	if label == "kubernetes.io/arch" { // Swarm uses the kernel's architecture names
		if name, ok := map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[value]; ok {
			value = name
		}
	}
	if equal {
		return expression{label, "In", []text{text(value)}}, true
	}
	return expression{label, "NotIn", []text{text(value)}}, true
}

func affinityOf(constraints []string) *affinity {
	var term nodeTerm
	for _, c := range constraints {
		if e, ok := expressionOf(c); ok {
			term.Expressions = append(term.Expressions, e)
		}
	}
	if len(term.Expressions) == 0 {
		return nil
	}
	return &affinity{nodeAffinity{nodeTerms{[]nodeTerm{term}}}}
}

// annotationForm matches the key of an annotation: a name, optionally prefixed with a DNS name (Kubernetes, "Annotations:
// Syntax and character set").
var annotationForm = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)

// isAnnotation reports whether a key is a valid annotation key. It checks the prefix's length in code because a counted
// repetition up to 253 in the expression would take a millisecond to compile at each start.
func isAnnotation(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	return annotationForm.MatchString(key) && (!ok || len(domain) <= maxDomain)
}

// maxDomain is the maximum length of a DNS name.
const maxDomain = 253

// annotations returns the labels whose keys are valid annotation keys.
func annotations(labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	maps.DeleteFunc(out, func(key, _ string) bool { return !isAnnotation(key) })
	return out
}

// deployWarnings lists the deploy keys that are lost on Kubernetes.
func deployWarnings(s packager.Service) []string {
	var out []string
	lost := func(key, why string) {
		out = append(out, fmt.Sprintf("container %q: deploy.%s is lost on Kubernetes: %s", s.Name, key, why))
	}
	c := s.Deploy
	for _, constraint := range c.Placement.Constraints {
		if _, ok := expressionOf(constraint); !ok {
			lost("placement.constraints", fmt.Sprintf("%q is not a label of a node", constraint))
		}
	}
	for _, p := range c.Placement.Preferences {
		if _, ok := nodeLabel(p.Spread); !ok {
			lost("placement.preferences", fmt.Sprintf("%q is not a label of a node", p.Spread))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		if !isAnnotation(key) {
			lost("labels", fmt.Sprintf("%q cannot be the name of an annotation", key))
		}
	}
	if r := c.RestartPolicy; s.Job == nil && ((r.Condition != "" && r.Condition != "any") || r.MaxAttempts != nil || r.Delay != "" || r.Window != "") {
		lost("restart_policy", "a pod is always restarted")
	}
	if u := c.UpdateConfig; u.FailureAction != "" || u.Monitor != "" || u.MaxFailureRatio != nil {
		lost("update_config", "only order, parallelism and delay are kept; an update that does not come up waits")
	}
	if c.RollbackConfig != (config.Update{}) {
		lost("rollback_config", "`toskose deploy --rollback` takes an update back")
	}
	if len(s.Mounts) > 0 && c.UpdateConfig != (config.Update{}) {
		lost("update_config", "the container has a volume, and its pods are replaced one by one")
	}
	return out
}
