package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"
)

// podman is the name of Podman's component in a version.
const podman = "Podman Engine"

// Identity returns a key of an engine that stays the same: its ID or, for Podman, whose ID is another one in each description, the
// name of its machine and its storage, which each user of Podman without root has separately.
func Identity(ctx context.Context, docker *client.Client, about system.Info) (string, error) {
	version, err := docker.ServerVersion(ctx)
	if err != nil {
		return "", fmt.Errorf("cannot read the version of the Docker engine: %w", err)
	}
	if !slices.ContainsFunc(version.Components, func(c types.ComponentVersion) bool { return c.Name == podman }) {
		return about.ID, nil
	}
	return fmt.Sprintf("podman %s %s", about.Name, about.DockerRootDir), nil
}
