package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/image"
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

// targetFlags are the options of what manifests are written.
type targetFlags struct {
	targets    []string
	secrets    string
	tls        bool
	compose    compose.Options
	kubernetes kubernetes.Options
}

func (f *targetFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.targets, "target", nil, "what to write manifests for: swarm, compose, kubernetes or all; may be repeated (default swarm,compose; swarm with external secrets)")
	flags.StringVar(&f.secrets, "secrets", secretsGenerated, "generated, or external: they are only named, and exist before the application is deployed, which a single engine cannot")
	flags.BoolVar(&f.tls, "tls", false, "manager and units speak TLS, with certificates of the application's own authority")
	flags.StringVar(&f.compose.EndpointMode, "endpoint-mode", compose.EndpointVIP, "how services are found in a swarm: vip or dnsrr")
	flags.StringVar(&f.compose.PublishMode, "publish-mode", compose.PublishIngress, "where a swarm publishes ports: ingress or host")
	flags.BoolVar(&f.compose.Encrypted, "encrypted", false, "encrypt what goes from machine to machine of a swarm")
	flags.StringVar(&f.kubernetes.Namespace, "namespace", "", "Kubernetes namespace to use (default one of the application's name, which is made)")
	flags.StringVar(&f.kubernetes.ServiceType, "service-type", kubernetes.ServiceNodePort, "how Kubernetes publishes ports: ClusterIP, NodePort or LoadBalancer")
	flags.StringVar(&f.kubernetes.PullSecret, "image-pull-secret", "", "Kubernetes Secret of type dockerconfigjson to pull the images with (it has to exist)")
	flags.StringVar(&f.kubernetes.ClusterDomain, "cluster-domain", kubernetes.DefaultClusterDomain, "what the names of Kubernetes' Services end in")
}

// complete fills in the targets, and refuses what goes with none.
func (f *targetFlags) complete() error {
	for _, t := range f.targets {
		if all := []string{targetSwarm, targetCompose, targetKubernetes, targetAll}; !slices.Contains(all, t) {
			return fmt.Errorf("--target %q is not one of %s", t, strings.Join(all, ", "))
		}
	}
	if f.secrets != secretsGenerated && f.secrets != secretsExternal {
		return fmt.Errorf("--secrets %q is neither %s nor %s", f.secrets, secretsGenerated, secretsExternal)
	}
	external := f.secrets == secretsExternal
	if external && f.has(targetCompose) {
		return fmt.Errorf("--secrets %s: a single engine has no secrets of its own, so it goes with --target %s and --target %s only", secretsExternal, targetSwarm, targetKubernetes)
	}
	if len(f.targets) == 0 {
		f.targets = []string{targetSwarm}
		if !external {
			f.targets = append(f.targets, targetCompose)
		}
	}
	if err := f.compose.Validate(); err != nil {
		return err
	}
	return f.kubernetes.Validate()
}

func (f *targetFlags) has(target string) bool {
	return slices.Contains(f.targets, target) || slices.Contains(f.targets, targetAll)
}

// warnings says what the targets lose of a plan.
func (f *targetFlags) warnings(plan *packager.Plan) []string {
	var all []string
	if f.has(targetSwarm) || f.has(targetCompose) {
		all = compose.Warnings(plan)
	}
	if f.has(targetKubernetes) {
		all = append(all, kubernetes.Warnings(plan, f.kubernetes)...)
	}
	return all
}

// write writes the manifests and the credentials, after the images are built:
// what pods may do depends on whom the images run as.
func (f *targetFlags) write(ctx context.Context, images *image.Builder, dir string, plan *packager.Plan) error {
	opts := output.Options{External: f.secrets == secretsExternal, Random: rand.Reader, Now: time.Now()}
	switch {
	case f.has(targetCompose):
		opts.Targets = append(opts.Targets, compose.Target(f.compose))
	case f.has(targetSwarm):
		opts.Targets = append(opts.Targets, compose.SwarmTarget(f.compose))
	}
	if f.has(targetKubernetes) {
		k := f.kubernetes
		k.Image = func(ref string) (user, content string) {
			about := images.About(ctx, ref)
			return about.User, about.Content
		}
		opts.Targets = append(opts.Targets, kubernetes.Target(k))
	}
	return output.Write(dir, plan, opts)
}
