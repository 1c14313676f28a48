package stack

import (
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager/compose"
)

func TestAnImageBuiltAgainReplacesItsContainers(t *testing.T) {
	t.Parallel()
	of := func(service, ref, id string) container.Summary {
		return container.Summary{Image: ref, ImageID: id, State: container.StateRunning, Labels: map[string]string{compose.LabelSwarmService: service}}
	}
	ended := of("ended", "old:1", "sha256:0")
	ended.State = container.StateExited
	got := staleServices([]container.Summary{
		of("same", "same:1", "sha256:1"), of("gone", "gone:1", "sha256:9"), of("changed", "changed:1", "sha256:2"),
		of("changed", "changed:1", "sha256:2"), of("nameless", "sha256:5", "sha256:5"), ended,
		{State: container.StateRunning, Image: "changed:1"},
	}, func(ref string) string {
		return map[string]string{"same:1": "sha256:1", "changed:1": "sha256:3", "old:1": "sha256:1"}[ref]
	})
	if diff := cmp.Diff([]string{"changed", "nameless"}, got); diff != "" {
		t.Error(diff)
	}
}
