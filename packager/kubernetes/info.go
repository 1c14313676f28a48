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

// infoAnnotation is where a kustomization says what it is for: it has no field
// that is anybody's own.
const infoAnnotation = "io.toskose.info"

// SecretAnnotation is of a Secret: NAME=SUFFIX, which is another where the value is another,
// and says nothing of it.
const SecretAnnotation = "io.toskose.secret" //nolint:gosec // it is a name

// NameAnnotation is of a workload or a claim whose name in the application is another than
// Kubernetes allows: that name.
const NameAnnotation = "io.toskose.name"

// namespaceFile is the manifest of an application's own namespace.
const namespaceFile = "namespace"

// NamespaceManifest is that manifest's path in an output folder.
var NamespaceManifest = path.Join(Folder, namespaceFile+".yaml")

// Info is what a kustomization says of itself, for those who deploy it.
type Info struct {
	output.Info
	Namespace    string
	OwnNamespace bool   // it is among the manifests
	Selector     string // of all that belongs to the application, as kubectl's --selector
}

// Managed selects the objects of all applications, as kubectl's --selector.
const Managed = labelManagedBy + "=toskose"

// ApplicationOf is the name of the application that an object with some labels belongs to.
func ApplicationOf(labels map[string]string) string { return labels[labelPartOf] }

// LabelOf is the name of an application in labels.
func LabelOf(app string) string { return label(app) }

// LabelsOf are the labels of an object that belongs to an application, and to none of its workloads.
func LabelsOf(app string) map[string]string {
	return map[string]string{labelPartOf: label(app), labelManagedBy: "toskose"}
}

// Named is what is known of an application that runs in a namespace, without its folder.
func Named(app, namespace string) Info {
	return Info{Info: output.Info{App: app}, Namespace: namespace, OwnNamespace: true, Selector: selectorOf(app)}
}

func selectorOf(app string) string { return labelPartOf + "=" + app + "," + Managed }

// Owner returns the application that an object with some labels belongs to, by the name
// that its labels have; empty: none that toskose has made. ours: it is this one.
func (i Info) Owner(labels map[string]string) (app string, ours bool) {
	if labels[labelManagedBy] != "toskose" {
		return "", false
	}
	app = ApplicationOf(labels)
	return app, i.Selector == selectorOf(app)
}

// Workload is the label that says which of an application's workloads an
// object belongs to.
const Workload = labelName

func (w *writer) about(external bool) (map[string]string, error) {
	info := output.InfoOf(w.plan, w.names[w.plan.Manager().Name])
	if external {
		info.External = slices.Sorted(maps.Values(w.secrets))
	}
	data, err := json.Marshal(info)
	if err != nil {
		return nil, fmt.Errorf("cannot encode what the application is: %w", err)
	}
	return map[string]string{infoAnnotation: string(data)}, nil
}

// ReadInfo reads what an output folder is for.
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
