package compose

import (
	"slices"

	"github.com/toskose/toskose/packager"
)

// LabelDocuments labels the volume on which the units of a container store documents. Its value names the container.
// Undeploying finds these volumes by it.
const LabelDocuments = "io.toskose.documents"

// addDocuments adds the documents volume to each toskosed service; each machine has its own. kompose would generate a volume
// claim for it. A label prevents that if the service has no other volumes, to which the label would apply too.
func (f *file) addDocuments(plan *packager.Plan, names map[string]string) {
	for _, s := range plan.Services {
		if !s.IsToskosed {
			continue
		}
		name := documentsName(plan, names[s.Name])
		f.Volumes[name] = volume{Labels: map[string]text{LabelDocuments: text(s.Name)}}
		service := f.Services[names[s.Name]]
		service.Volumes = append(service.Volumes, mount{Type: "volume", Source: text(name), Target: packager.DocumentsPath})
		if len(service.Volumes) == 1 {
			service.Labels["kompose.volume.type"] = "emptyDir"
		}
		f.Services[names[s.Name]] = service
	}
}

// documentsName returns a name for the documents volume that no volume of the application has.
func documentsName(plan *packager.Plan, service string) string {
	name := service + "-documents"
	if slices.ContainsFunc(plan.Volumes, func(v packager.Volume) bool { return v.Name == name }) {
		return packager.Shorten(name, name, len(name)+len("-01234567"))
	}
	return name
}
