package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
)

// RemoteResources lists the resources on other machines of the swarm, which only their own engines can remove.
func (s *Stack) RemoteResources(ctx context.Context, gone backend.Removal) ([]string, error) {
	_, tasks, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, kind := range []struct {
		wanted     bool
		what, list string
		has        func(swarm.Task) bool
	}{
		{gone.Volumes, "volumes", "docker volume ls --filter label=" + s.label, hasVolumes},
		{gone.Images, "images", "docker image ls --filter label=" + packager.LabelApp + "=" + s.Info.App, func(swarm.Task) bool { return true }},
	} {
		if !kind.wanted {
			continue
		}
		var names []string
		for _, id := range othersOf(tasks, s.self, kind.has) {
			node, _, err := s.Docker.NodeInspectWithRaw(ctx, id)
			if err != nil {
				return nil, fmt.Errorf("cannot find the machine %q of the swarm: %w", id, err)
			}
			names = append(names, node.Description.Hostname)
		}
		slices.Sort(names)
		if len(names) > 0 {
			lines = append(lines, fmt.Sprintf("%s on %s stay, which only the engine there can remove: `%s` there lists them", kind.what, strings.Join(names, ", "), kind.list))
		}
	}
	return lines, nil
}

// othersOf returns the node IDs of other machines that run a task for which has is true, without duplicates.
func othersOf(tasks []swarm.Task, self string, has func(swarm.Task) bool) (ids []string) {
	for _, t := range tasks {
		if t.NodeID != "" && t.NodeID != self && !slices.Contains(ids, t.NodeID) && has(t) {
			ids = append(ids, t.NodeID)
		}
	}
	return ids
}

// hasVolumes reports whether a task mounts volumes that belong to the application itself.
func hasVolumes(t swarm.Task) bool {
	if t.Spec.ContainerSpec == nil {
		return false
	}
	external := slices.Collect(maps.Values(packager.ReadExternal(t.Spec.ContainerSpec.Labels)))
	return slices.ContainsFunc(t.Spec.ContainerSpec.Mounts, func(m mount.Mount) bool {
		return m.Type == mount.TypeVolume && m.Source != "" && !slices.Contains(external, m.Source) && (m.VolumeOptions == nil || m.VolumeOptions.Labels[compose.LabelDocuments] == "")
	})
}
