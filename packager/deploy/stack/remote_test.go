package stack

import (
	"fmt"
	"testing"

	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
)

func TestOtherMachinesKeepTheVolumesOfTheirTasks(t *testing.T) {
	t.Parallel()
	on := func(node string, labels map[string]string, kind mount.Type) swarm.Task {
		return swarm.Task{NodeID: node, Spec: swarm.TaskSpec{ContainerSpec: &swarm.ContainerSpec{
			Mounts: []mount.Mount{{Type: kind, Source: "shop_data", VolumeOptions: &mount.VolumeOptions{Labels: labels}}},
		}}}
	}
	external := on("six", nil, mount.TypeVolume)
	external.Spec.ContainerSpec.Labels = map[string]string{packager.LabelExternal: `{"data": "shop_data"}`}
	tasks := []swarm.Task{
		on("self", nil, mount.TypeVolume), on("two", nil, mount.TypeVolume), on("two", nil, mount.TypeVolume),
		on("three", map[string]string{compose.LabelDocuments: "api"}, mount.TypeVolume), on("four", nil, mount.TypeBind),
		{NodeID: "five"},
		external,
		on("", nil, mount.TypeVolume),
	}
	if got := fmt.Sprint(othersOf(tasks, "self", hasVolumes)); got != "[two]" {
		t.Errorf("volumes are on %s", got)
	}
	if got := fmt.Sprint(othersOf(tasks, "self", func(swarm.Task) bool { return true })); got != "[two three four five six]" {
		t.Errorf("images are on %s", got)
	}
}
