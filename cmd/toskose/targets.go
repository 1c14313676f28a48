package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
)

// The values of --target and --secrets.
const (
	targetSwarm      = "swarm"
	targetCompose    = "compose"
	targetKubernetes = "kubernetes"
	targetAll        = "all"

	secretsGenerated = "generated"
	secretsExternal  = "external"
)

// targetFlags are the flags of writing manifests.
type targetFlags struct {
	targets    []string
	forSwarm   bool // asked for by name, or all
	secrets    string
	from       string // a folder whose secrets are taken over
	tls        bool
	compose    compose.Options
	kubernetes kubernetes.Options
	mounted    func(path string) bool // see output.Options
}

func (f *targetFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.targets, "target", nil, "what to write manifests for: swarm, compose, kubernetes or all; may be repeated (default swarm,compose; swarm with external secrets)")
	flags.StringVar(&f.secrets, "secrets", secretsGenerated, "generated, or external: created by someone else before the application is deployed (not on a single engine)")
	flags.StringVar(&f.from, "from", "", "take over the secrets of the application that was packaged in `DIR`: a new folder otherwise gets new ones")
	flags.BoolVar(&f.tls, "tls", false, "encrypt traffic with the manager, and between it and units, with certificates of the application's own authority")
	flags.StringVar(&f.compose.EndpointMode, "endpoint-mode", compose.EndpointVIP, "how a swarm resolves services: vip or dnsrr")
	flags.StringVar(&f.compose.PublishMode, "publish-mode", compose.PublishIngress, "where a swarm publishes ports: ingress or host")
	flags.BoolVar(&f.compose.Encrypted, "encrypted", false, "encrypt traffic between the machines of a swarm")
	flags.StringVar(&f.kubernetes.Namespace, "namespace", "", "Kubernetes namespace to use (default a new one, named after the application)")
	flags.StringVar(&f.kubernetes.ServiceType, "service-type", kubernetes.ServiceNodePort, "how Kubernetes publishes ports: ClusterIP, NodePort or LoadBalancer")
	flags.StringVar(&f.kubernetes.PullSecret, "image-pull-secret", "", "existing Kubernetes Secret of type dockerconfigjson to pull the images with")
	flags.BoolVar(&f.kubernetes.OpenShift, "openshift", false, "leave users and groups of pods to the cluster, as OpenShift's restricted security context constraints require")
	flags.StringVar(&f.kubernetes.Under, "under", "", "`KIND/NAME` of the resource that the application belongs to on Kubernetes, or system: at the top; the operator then makes its workloads")
	flags.StringVar(&f.kubernetes.ClusterDomain, "cluster-domain", kubernetes.DefaultClusterDomain, "domain of the Kubernetes cluster")
}

// complete sets the default targets, and checks that the flags go together.
func (f *targetFlags) complete() error {
	for _, t := range f.targets {
		if all := []string{targetSwarm, targetCompose, targetKubernetes, targetAll}; !slices.Contains(all, t) {
			return fmt.Errorf("--target %q is not one of %s", t, strings.Join(all, ", "))
		}
	}
	if f.secrets != secretsGenerated && f.secrets != secretsExternal {
		return fmt.Errorf("--secrets %q is neither %s nor %s", f.secrets, secretsGenerated, secretsExternal)
	}
	f.forSwarm = f.has(targetSwarm)
	external := f.secrets == secretsExternal
	if external && f.from != "" {
		return fmt.Errorf("--from copies secrets from a folder, but with --secrets %s they are not in folders", secretsExternal)
	}
	if external && f.has(targetCompose) {
		return fmt.Errorf("--secrets %s: a single engine has no secrets of its own, so it goes with --target %s and --target %s only", secretsExternal, targetSwarm, targetKubernetes)
	}
	if len(f.targets) == 0 {
		f.targets = []string{targetSwarm}
		if !external {
			f.targets = append(f.targets, targetCompose)
		}
	}
	if f.kubernetes.Under != "" && !f.has(targetKubernetes) {
		return fmt.Errorf("--under is for --target %s only", targetKubernetes)
	}
	if err := f.compose.Validate(); err != nil {
		return err
	}
	return f.kubernetes.Validate()
}

func (f *targetFlags) has(target string) bool {
	return slices.Contains(f.targets, target) || slices.Contains(f.targets, targetAll)
}

// warnings returns the features of a plan that the targets do not support.
func (f *targetFlags) warnings(plan *packager.Plan) []string {
	var all []string
	if f.has(targetSwarm) || f.has(targetCompose) {
		all = compose.Warnings(plan)
	}
	if f.forSwarm { // many convert the file that they asked for
		all = append(all, compose.Conversion(plan)...)
		all = append(all, compose.SwarmWarnings(plan)...)
	}
	if f.has(targetCompose) {
		all = append(all, compose.LocalWarnings(plan)...)
	}
	if f.has(targetKubernetes) {
		all = append(all, kubernetes.Warnings(plan, f.kubernetes)...)
	}
	return all
}

// all returns the targets.
func (f *targetFlags) all() (all []output.Target) {
	switch {
	case f.has(targetCompose):
		all = append(all, compose.Target(f.compose))
	case f.has(targetSwarm):
		all = append(all, compose.SwarmTarget(f.compose))
	}
	if f.has(targetKubernetes) {
		all = append(all, kubernetes.Target(f.kubernetes))
	}
	return all
}

// check returns an error if a plan cannot be written for the targets, before images are built.
func (f *targetFlags) check(plan *packager.Plan) error {
	var problems []error
	for _, target := range f.all() {
		_, err := target(plan, output.Secrets{External: f.secrets == secretsExternal})
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// write writes the manifests and the credentials.
func (f *targetFlags) write(dir string, plan *packager.Plan) error {
	opts := output.Options{Targets: f.all(), External: f.secrets == secretsExternal, From: f.from, Random: rand.Reader, Now: time.Now(), Mounted: f.mounted}
	return output.Write(dir, plan, opts)
}
