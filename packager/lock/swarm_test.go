//go:build swarm

package lock

import (
	"testing"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/internal/engine"
)

// TestASwarmKeepsALock needs an engine that manages a swarm: e2e makes one, and runs it.
func TestASwarmKeepsALock(t *testing.T) {
	docker := engine.Connect(t)
	app := appOf(t)
	keeps(t, InSwarm(docker, app))
	left, err := docker.ConfigList(t.Context(), swarm.ConfigListOptions{Filters: filters.NewArgs(filters.Arg("label", labelApp+"="+app))})
	if err != nil || len(left) > 0 {
		t.Fatalf("%d configs are left: %v", len(left), err)
	}
}
