package attach

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

// object is a mapping of YAML, whose keys are sorted.
type object = map[string]any

// Names in pods.
const (
	unitVolume      = "toskose-unit"
	secretsVolume   = "toskose-secrets" //nolint:gosec // a name, not a credential
	documentsVolume = "toskose-documents"
	appVolume       = "toskose-app"
	secretsPath     = "/toskose/secrets" //nolint:gosec // a folder of units, not a credential
	copiedUnit      = "supervisord"      // the file in unitVolume
	appPath         = "/toskose/app"
)

// clusterRenderer makes the manifests.
type clusterRenderer struct {
	cluster    *cluster
	opts       Options
	findings   []Finding // of attached workloads
	standalone []string  // the other workloads
}

// files returns the kustomization, the patches and the objects that it adds.
func (r *clusterRenderer) files() ([]output.File, error) {
	base, err := filepath.Rel(r.cluster.out, r.cluster.dir)
	if err != nil {
		return nil, err
	}
	top := object{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []string{filepath.ToSlash(base), "manager.yaml"},
		"configMapGenerator": []object{{"name": appVolume, "files": []string{"app.json"}}},
		"generatorOptions":   object{"labels": addedLabels()},
	}
	if r.cluster.namespace != "" {
		top["namespace"] = r.cluster.namespace
	}
	var files []output.File
	var patches, secrets []object
	add := func(name string, objects ...object) error {
		data, err := encode(objects...)
		files = append(files, output.File{Name: name, Mode: 0o644, Data: data})
		return err
	}
	for _, f := range r.findings {
		file := f.Service + ".yaml"
		if err := add(filepath.Join("patches", file), r.patch(f)); err != nil {
			return nil, err
		}
		patches = append(patches, object{"path": path.Join("patches", file)})
		secrets = append(secrets, object{"name": podsOf(f.Service), "files": r.unitSecrets(f)})
	}
	secrets = append(secrets, object{"name": Manager, "files": r.managerSecrets()})
	top["patches"], top["secretGenerator"] = patches, secrets
	if err := add("manager.yaml", r.manager()...); err != nil {
		return nil, err
	}
	return files, add(kustomization, top)
}

func encode(objects ...object) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header)
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	for _, o := range objects {
		if err := enc.Encode(o); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), enc.Close()
}

// secretFile returns an entry of a secretGenerator: KEY=FILE.
func secretFile(key, secret string) string { return key + "=secrets/" + secret }

func (r *clusterRenderer) unitSecrets(f Finding) []string {
	all := []string{secretFile(passwordSecret, unitSecret(f.Service, passwordSecret))}
	if r.opts.TLS {
		all = append(all, secretFile(certSecret, unitSecret(f.Service, certSecret)), secretFile(keySecret, unitSecret(f.Service, keySecret)),
			secretFile(packager.TLSAuthority, packager.TLSAuthority))
	}
	return all
}

func (r *clusterRenderer) managerSecrets() []string {
	names := []string{packager.ManagerPassword, packager.ManagerSecretKey, packager.ManagerUsers}
	if r.opts.TLS {
		names = append(names, managerSecret(certSecret), managerSecret(keySecret), packager.TLSAuthority)
	}
	var all []string
	for _, name := range names {
		all = append(all, secretFile(key(name), name))
	}
	for _, f := range r.findings {
		all = append(all, secretFile(packager.UnitPassword(f.Service), unitSecret(f.Service, passwordSecret)))
	}
	return all
}

// patch returns the patch of a workload: an init container copies the unit, which is mounted
// over supervisord.
func (r *clusterRenderer) patch(f Finding) object {
	w := r.cluster.workload(f.Service)
	env := []object{
		{"name": "TOSKOSE_UNIT_LISTEN", "value": ":" + strconv.Itoa(f.Port)},
		{"name": "SUPERVISORD_PASSWORD_FILE", "value": path.Join(secretsPath, passwordSecret)},
	}
	if r.opts.TLS {
		env = append(env, object{"name": "TOSKOSE_UNIT_TLS_CERT", "value": path.Join(secretsPath, certSecret)},
			object{"name": "TOSKOSE_UNIT_TLS_KEY", "value": path.Join(secretsPath, keySecret)},
			object{"name": "TOSKOSE_UNIT_TLS_CLIENT_CA", "value": path.Join(secretsPath, packager.TLSAuthority)})
	}
	mounts := []object{
		{"name": secretsVolume, "mountPath": secretsPath, "readOnly": true},
		{"name": documentsVolume, "mountPath": packager.DocumentsPath},
	}
	for _, target := range f.Supervisord {
		mounts = append(mounts, object{"name": unitVolume, "mountPath": target, "subPath": copiedUnit, "readOnly": true})
	}
	const folder = "/toskose/copy"
	metadata := object{"name": f.Service}
	if w.Metadata.Namespace != "" {
		metadata["namespace"] = w.Metadata.Namespace
	}
	return object{
		"apiVersion": w.APIVersion, "kind": w.Kind, "metadata": metadata,
		"spec": object{"template": object{"spec": object{
			"initContainers": []object{{
				"name": unitVolume, "image": clusterImage(r.opts, unitBinary), "command": []string{packager.UnitPath, "copy", path.Join(folder, copiedUnit)},
				"volumeMounts": []object{{"name": unitVolume, "mountPath": folder}}, "securityContext": restricted(),
			}},
			"containers": []object{{"name": r.cluster.container[f.Service], "env": env, "volumeMounts": mounts}},
			"volumes": []object{
				{"name": unitVolume, "emptyDir": object{}},
				{"name": documentsVolume, "emptyDir": object{}},
				{"name": secretsVolume, "secret": object{"secretName": podsOf(f.Service)}},
			},
		}}},
	}
}

// restricted is the security context of containers that run one of Toskose's binaries: they meet
// Kubernetes' profile "restricted".
func restricted() object {
	uid, err := strconv.Atoi(packager.ManagerUID)
	if err != nil {
		panic(fmt.Sprintf("the manager's user %q is not a number", packager.ManagerUID)) // a constant
	}
	return object{
		"runAsUser": uid, "runAsNonRoot": true, "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false,
		"capabilities": object{"drop": []string{"ALL"}}, "seccompProfile": object{"type": "RuntimeDefault"},
	}
}

// The label of all objects that attaching adds.
const (
	managedBy       = "app.kubernetes.io/managed-by"
	managedByAttach = "toskose-attach"
)

// addedLabels are the labels of the objects that attaching adds, and select the manager's pod.
func addedLabels() object {
	return object{"app.kubernetes.io/name": Manager, managedBy: managedByAttach}
}

// manager returns the manager's Deployment and Service, and a headless Service for the pods of each
// workload.
func (r *clusterRenderer) manager() []object {
	labels := addedLabels()
	secret := func(name string) string { return path.Join(packager.SecretsPath, key(name)) }
	port := strconv.Itoa(r.opts.Port)
	env := []object{
		{"name": "TOSKOSE_DISCOVERY", "value": "alias"},
		{"name": "TOSKOSE_MANAGER_PORT", "value": port},
		{"name": "TOSKOSE_MANAGER_USER", "value": user},
		{"name": "TOSKOSE_MANAGER_PASSWORD_FILE", "value": secret(packager.ManagerPassword)},
		{"name": "TOSKOSE_MANAGER_USERS_FILE", "value": secret(packager.ManagerUsers)},
		{"name": "SECRET_KEY_FILE", "value": secret(packager.ManagerSecretKey)},
		{"name": "TOSKOSE_SECRETS", "value": packager.SecretsPath},
	}
	if r.opts.TLS {
		cert, certKey := secret(managerSecret(certSecret)), secret(managerSecret(keySecret))
		env = append(env, object{"name": "TOSKOSE_TLS_CA", "value": secret(packager.TLSAuthority)},
			object{"name": "TOSKOSE_TLS_CERT", "value": cert}, object{"name": "TOSKOSE_TLS_KEY", "value": certKey},
			object{"name": "TOSKOSE_MANAGER_TLS_CERT", "value": cert}, object{"name": "TOSKOSE_MANAGER_TLS_KEY", "value": certKey})
	}
	health := object{"exec": object{"command": []string{packager.ManagerPath, "health"}}, "timeoutSeconds": int(packager.HealthTimeout.Seconds())}
	all := []object{
		{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": Manager, "labels": labels},
			"spec": object{
				"replicas": 1, "selector": object{"matchLabels": labels},
				"template": object{"metadata": object{"labels": labels}, "spec": object{
					"automountServiceAccountToken": false,
					"containers": []object{{
						"name": "manager", "image": clusterImage(r.opts, managerBinary), "args": []string{"--app", path.Join(appPath, "app.json")}, "env": env,
						"ports": []object{{"containerPort": r.opts.Port}}, "readinessProbe": health, "securityContext": restricted(),
						"volumeMounts": []object{
							{"name": secretsVolume, "mountPath": packager.SecretsPath, "readOnly": true}, {"name": appVolume, "mountPath": appPath, "readOnly": true},
						},
					}},
					"volumes": []object{
						{"name": secretsVolume, "secret": object{"secretName": Manager}}, {"name": appVolume, "configMap": object{"name": appVolume}},
					},
				}},
			},
		},
		{
			"apiVersion": "v1", "kind": "Service", "metadata": object{"name": Manager, "labels": labels},
			"spec": object{"selector": labels, "ports": []object{{"name": strings.TrimSuffix(scheme(r.opts), ":"), "port": r.opts.Port}}},
		},
	}
	return append(all, r.podServices()...)
}

// podServices returns the headless Services by which the manager finds pods. It asks the units of attached workloads, also while
// their pods are not ready. Another workload runs when one of its pods is ready.
func (r *clusterRenderer) podServices() (all []object) {
	service := func(workload string, spec object) {
		spec["clusterIP"], spec["selector"] = "None", r.cluster.workload(workload).selector()
		all = append(all, object{
			"apiVersion": "v1", "kind": "Service", "metadata": object{"name": podsOf(workload), "labels": addedLabels()}, "spec": spec,
		})
	}
	for _, f := range r.findings {
		service(f.Service, object{"publishNotReadyAddresses": true, "ports": []object{{"name": "unit", "port": f.Port}}})
	}
	for _, name := range r.standalone {
		service(name, object{})
	}
	return all
}
