package kubernetes

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"

	"github.com/toskose/toskose/packager/output"
)

// defaultSize is the size of a volume that does not declare one.
const defaultSize = "1Gi"

// documentsLimit is the size limit of a unit's documents, above which the pod is evicted. A document has at most 64 KiB, and
// exists twice while it is replaced.
const documentsLimit = "1Mi"

var (
	namespaceForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	secretForm    = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	sizeForm      = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([kMGTPE]|[KMGTPE]i)?$`) // a resource.Quantity, in bytes
)

// checkExternal returns an error for an external volume that cannot be the name of a claim, or is the name of a claim in the
// manifests.
func (w *writer) checkExternal() error {
	var problems []error
	for _, v := range w.plan.Volumes {
		if v.Existing == "" {
			continue
		}
		if !secretForm.MatchString(v.Existing) {
			problems = append(problems, fmt.Errorf("volumes.%s.name: %q is not the name of a claim on Kubernetes: small letters, digits, '-' and '.'", v.Name, v.Existing))
		}
		for _, other := range w.plan.Volumes {
			if other.Existing == "" && w.volumes[other.Name] == v.Existing {
				problems = append(problems, fmt.Errorf("volumes.%s.name: %q is the claim of the application's volume %q", v.Name, v.Existing, other.Name))
			}
		}
	}
	return errors.Join(problems...)
}

// claims returns a claim for each volume that is not external. They are not templates of a StatefulSet: a volume of the model is a single volume,
// even if several containers mount it.
func (w *writer) claims() []any {
	var out []any
	for _, v := range w.plan.Volumes {
		if v.Existing != "" {
			continue
		}
		mode, size := "ReadWriteOnce", defaultSize
		if w.mounters[v.Name] > 1 {
			mode = "ReadWriteMany"
		}
		if given := v.Options["size"]; sizeForm.MatchString(given) {
			size = given
		}
		out = append(out, object{
			APIVersion: "v1", Kind: "PersistentVolumeClaim",
			Metadata: metadata{Name: w.volumes[v.Name], Labels: w.labels(""), Annotations: named(nil, v.Name, w.volumes[v.Name])},
			Spec:     claimSpec{Modes: []string{mode}, Resources: resources{Requests: map[string]string{"storage": size}}},
		})
	}
	return out
}

// named adds the object's name in the application as an annotation, if Kubernetes uses a different name.
func named(annotations map[string]string, name, made string) map[string]string {
	if name == made {
		return annotations
	}
	all := map[string]string{NameAnnotation: name}
	maps.Copy(all, annotations)
	return all
}

// kustomization lists the manifests and generates Secrets from the credential files. The names of the application's own
// secrets end in a digest, so that a changed value restarts the containers that use it. Manager and units reload their own
// secrets instead.
func (w *writer) kustomization(files []output.File, secrets output.Secrets) (kustomization, error) {
	about, err := w.about(secrets.External)
	k := kustomization{
		APIVersion: "kustomize.config.k8s.io/v1beta1", Kind: "Kustomization", Namespace: w.namespace(),
		Metadata: metadata{Name: w.app, Annotations: about},
	}
	for _, f := range files {
		k.Resources = append(k.Resources, f.Name)
	}
	if secrets.External {
		return k, err
	}
	for _, s := range w.plan.Secrets {
		k.Secrets = append(k.Secrets, secretGenerator{
			Name: w.secrets[s.Name], Type: "Opaque",
			Files:   []string{path.Join(output.SecretsDir, s.Name)},
			Options: generatorOptions{w.labels(""), map[string]string{output.SecretAnnotation: s.Name + "=" + secrets.Suffixes[s.Name]}, !s.Application},
		})
	}
	return k, err
}
