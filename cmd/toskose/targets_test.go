package main

import (
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/kubernetes"
)

func TestAPlanThatATargetRefusesIsRefusedBeforeImagesAreBuilt(t *testing.T) {
	t.Parallel()
	plan, err := packager.New(sample.App(), sample.Archive(), config.Config{Nodes: map[string]config.Node{
		"store":   {Ports: config.Ports{"127.0.0.1:6379:6379"}},
		"backend": {Kubernetes: config.Kubernetes{Patch: sample.Fragment("{spec: {replicas: 2}}")}},
	}}, packager.Options{AllowHost: sample.Host})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		targetSwarm: "a Swarm publishes ports at all addresses", targetCompose: "", targetKubernetes: "spec.replicas: Toskose sets it",
	} {
		f := targetFlags{
			targets: []string{target}, compose: compose.Options{EndpointMode: compose.EndpointVIP, PublishMode: compose.PublishIngress},
			kubernetes: kubernetes.Options{ServiceType: kubernetes.ServiceNodePort},
		}
		if err := f.check(plan); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", target, err, want)
		}
	}
}
