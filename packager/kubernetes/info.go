package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager/output"
)

// infoAnnotation stores the application's description in a kustomization, which has no field for custom data.
const infoAnnotation = "io.toskose.info"

// NameAnnotation stores the application's name of a workload or claim if Kubernetes does not allow that name.
const NameAnnotation = "io.toskose.name"

// namespaceFile is the manifest of an application's own namespace.
const namespaceFile = "namespace"

// NamespaceManifest is the path of that manifest in an output folder.
var NamespaceManifest = path.Join(Folder, namespaceFile+".yaml")

// Info describes the application of a kustomization.
type Info struct {
	output.Info
	Namespace    string
	OwnNamespace bool   // the manifests include the namespace
	Selector     string // kubectl's --selector for all objects of the application
	Under        string // the resource above the Application, see Options.Under
}

// Managed is kubectl's --selector for the objects of all applications.
const Managed = labelManagedBy + "=toskose"

// ApplicationOf returns the name of the application that an object with the given labels belongs to.
func ApplicationOf(labels map[string]string) string { return labels[labelPartOf] }

// LabelOf returns the label value of an application's name.
func LabelOf(app string) string { return label(app) }

// LabelsOf returns the labels of an object that belongs to an application but to none of its workloads.
func LabelsOf(app string) map[string]string {
	return map[string]string{labelPartOf: label(app), labelManagedBy: "toskose"}
}

// Named returns the description of a running application without its folder.
func Named(app, namespace string) Info {
	return Info{Info: output.Info{App: app}, Namespace: namespace, OwnNamespace: true, Selector: selectorOf(app)}
}

func selectorOf(app string) string { return labelPartOf + "=" + app + "," + Managed }

// Owner returns the label value of the application that an object with the given labels belongs to, or "" if toskose did not
// create the object. ours reports whether it is this application.
func (i Info) Owner(labels map[string]string) (app string, ours bool) {
	if labels[labelManagedBy] != "toskose" {
		return "", false
	}
	app = ApplicationOf(labels)
	return app, i.Selector == selectorOf(app)
}

// Workload is the label that names the workload to which an object belongs.
const Workload = labelName

func (w *writer) about(external bool) (map[string]string, error) {
	info := output.InfoOf(w.plan, w.names[w.plan.Manager().Name])
	if external {
		info.External = slices.Sorted(maps.Values(w.secrets))
	}
	data, err := json.Marshal(info)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the description of the application: %w", err)
	}
	all := map[string]string{infoAnnotation: string(data)}
	if w.opts.Under != "" {
		all[underAnnotation] = w.opts.Under
	}
	return all, nil
}

// ReadInfo reads the description of the application in an output folder.
func ReadInfo(dir string) (Info, error) {
	file := filepath.Join(dir, Kustomization)
	data, err := os.ReadFile(file)
	if err != nil {
		return Info{}, fmt.Errorf("%q was not packaged by toskose for Kubernetes: %w", dir, err)
	}
	var k kustomization
	if err := yaml.Unmarshal(data, &k); err != nil {
		return Info{}, fmt.Errorf("cannot read %q: %w", file, err)
	}
	info := Info{
		Namespace:    k.Namespace,
		OwnNamespace: slices.Contains(k.Resources, NamespaceManifest),
		Selector:     selectorOf(k.Metadata.Name),
		Under:        k.Metadata.Annotations[underAnnotation],
	}
	text := k.Metadata.Annotations[infoAnnotation]
	if text == "" || k.Namespace == "" || k.Metadata.Name == "" {
		return Info{}, fmt.Errorf("%q was not written by this version of toskose: it has no annotation %s; package the application again", file, infoAnnotation)
	}
	if err := json.Unmarshal([]byte(text), &info.Info); err != nil {
		return Info{}, fmt.Errorf("cannot read the annotation %s of %q: %w", infoAnnotation, file, err)
	}
	return info, nil
}
