package compose_test

import (
	"slices"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
)

// TestEachToskosedServiceHasAVolumeForDocuments: a named one that can be told
// from the application's, also where one of these has its name.
func TestEachToskosedServiceHasAVolumeForDocuments(t *testing.T) {
	t.Parallel()
	app := sample.App()
	app.Volumes = append(app.Volumes, spec.Volume{Name: "backend-documents"})
	app.Nodes[0].Storage = []spec.Storage{{Volume: "backend-documents", Location: "/files"}}
	made, err := packager.New(app, sample.Archive(), config.Config{}, packager.Options{AllowHost: sample.Host, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	dir := packagedFor(t, made, defaults, false)
	swarm := stacked(t, dir).Volumes
	for _, files := range [][]string{{compose.SwarmFile}, {compose.LocalFile}} {
		p := project(t, dir, files...)
		for _, s := range made.Services {
			mounts := p.Services[s.Name].Volumes
			i := slices.IndexFunc(mounts, func(m types.ServiceVolumeConfig) bool { return m.Target == packager.DocumentsPath })
			if (i >= 0) != s.IsToskosed {
				t.Errorf("%s: %+v", s.Name, mounts)
			}
			if i < 0 {
				continue
			}
			name := mounts[i].Source
			if mounts[i].Type != types.VolumeTypeVolume || p.Volumes[name].Labels[compose.LabelDocuments] != s.Name || swarm[name].Labels[compose.LabelDocuments] != s.Name {
				t.Errorf("%s: %+v, on %+v", s.Name, mounts[i], p.Volumes[name])
			}
			if kind := p.Services[s.Name].Labels["kompose.volume.type"]; (kind == "emptyDir") != (len(mounts) == 1) {
				t.Errorf("%s: kompose makes its %d volumes %q", s.Name, len(mounts), kind)
			}
		}
		if _, ok := p.Volumes["backend-documents"].Labels[compose.LabelDocuments]; ok || len(p.Volumes) != 4 {
			t.Errorf("volumes %+v", p.Volumes)
		}
	}
}
