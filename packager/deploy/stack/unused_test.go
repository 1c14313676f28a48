package stack

import (
	"testing"

	"github.com/docker/docker/api/types/swarm"
)

func TestASecretGoesWhenNeitherAServiceNorItsVersionBeforeHasIt(t *testing.T) {
	t.Parallel()
	with := func(ids ...string) (spec swarm.ServiceSpec) {
		spec.TaskTemplate.ContainerSpec = &swarm.ContainerSpec{}
		for _, id := range ids {
			spec.TaskTemplate.ContainerSpec.Secrets = append(spec.TaskTemplate.ContainerSpec.Secrets, &swarm.SecretReference{SecretID: id})
		}
		return spec
	}
	before := with("before")
	services := []swarm.Service{{Spec: with("now", "shared"), PreviousSpec: &before}, {Spec: with("shared")}, {}}
	var secrets []swarm.Secret
	for _, id := range []string{"now", "before", "shared", "old"} {
		secrets = append(secrets, swarm.Secret{ID: id})
	}
	unused := unusedSecrets(services, secrets)
	if len(unused) != 1 || unused[0].ID != "old" {
		t.Errorf("unused are %v, want the old one", unused)
	}
}
