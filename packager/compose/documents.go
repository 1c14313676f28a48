package compose

import (
	"slices"

	"github.com/toskose/toskose/packager"
)

// LabelDocuments is of the volume that the units of a container keep documents
// on: it names the container. undeploy finds these volumes by it.
const LabelDocuments = "io.toskose.documents"

// addDocuments gives each toskosed service that volume, on each machine that it
// runs on. kompose would claim one of the cluster's; it is told not to where the
// service has no other volumes, which would be of the same kind.
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

// documentsName is the name of that volume, which is none of the application's.
func documentsName(plan *packager.Plan, service string) string {
	name := service + "-documents"
	if slices.ContainsFunc(plan.Volumes, func(v packager.Volume) bool { return v.Name == name }) {
		return packager.Shorten(name, name, len(name)+len("-01234567"))
	}
	return name
}
