package shell

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/docker/docker/api/types/container"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/compose"
)

// onEngine returns the docker command for a container on the engine; nil if the engine has none.
func (f *flags) onEngine(ctx context.Context, at target) ([]string, error) {
	docker, err := f.Connect()
	if err != nil {
		return nil, err
	}
	defer docker.Close()
	all, err := docker.ContainerList(ctx, container.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot list the containers of the engine: %w", err)
	}
	i := slices.IndexFunc(all, func(c container.Summary) bool { return isAt(c, at) })
	if i < 0 {
		return nil, nil
	}
	words := []string{"docker", "exec", "--interactive"}
	if f.Terminal {
		words = append(words, "--tty")
	}
	return append(words, all[i].ID, unitIn(all[i])), nil
}

// isAt reports whether a container is the wanted replica of a node.
func isAt(c container.Summary, at target) bool {
	toskosed := c.Labels[packager.LabelApp] == at.app && c.Labels[packager.LabelNode] == at.node
	attached := c.Labels[compose.LabelProject] == at.app && c.Labels[compose.LabelService] == at.node ||
		c.Labels[compose.LabelStack] == at.app && c.Labels[compose.LabelSwarmService] == at.app+"_"+at.node
	if !toskosed && !attached || c.NetworkSettings == nil {
		return false
	}
	for _, network := range c.NetworkSettings.Networks {
		if network.IPAddress == at.address || network.GlobalIPv6Address == at.address {
			return true
		}
	}
	return false
}

// unitIn returns the path of the unit's binary in a container: of an attached one, the supervisord that it is mounted over.
func unitIn(c container.Summary) string {
	for _, m := range c.Mounts {
		if path.Base(m.Destination) == "supervisord" {
			return m.Destination
		}
	}
	return packager.UnitPath
}

// onCluster returns the kubectl command for the pod with an address; nil if the cluster has none.
func (f *flags) onCluster(ctx context.Context, cluster command.Cluster, at target) ([]string, error) {
	pods, err := cluster.Objects(ctx, "get", "pods", "--all-namespaces", "--field-selector", "status.phase=Running,status.podIP="+at.address)
	if err != nil {
		return nil, fmt.Errorf("cannot list the pods of the cluster: %w", err)
	}
	if len(pods) == 0 || len(pods[0].Spec.Containers) == 0 {
		return nil, nil
	}
	pod := pods[0]
	name, unit := containerIn(pod, at.node)
	words := []string{"kubectl"}
	if cluster.Context != "" {
		words = append(words, "--context", cluster.Context)
	}
	words = append(words, "--namespace", pod.Metadata.Namespace, "exec", "--stdin")
	if f.Terminal {
		words = append(words, "--tty")
	}
	return append(words, pod.Metadata.Name, "--container", name, "--", unit), nil
}

// containerIn returns the name of a node's container in a pod, and the path of the unit's binary in it: an attached one has the
// unit mounted over its supervisord; otherwise it is the container of that name, or the only one.
func containerIn(pod command.Object, node string) (name, unit string) {
	for _, c := range pod.Spec.Containers {
		for _, m := range c.Mounts {
			if path.Base(m.Path) == "supervisord" {
				return c.Name, m.Path
			}
		}
	}
	name = pod.Spec.Containers[0].Name
	if slices.ContainsFunc(pod.Spec.Containers, func(c command.Container) bool { return c.Name == node }) {
		name = node
	}
	return name, packager.UnitPath
}
