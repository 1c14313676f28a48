// Package kubernetes is a test: it reads the manifests of packager/kubernetes with Kubernetes' own
// types, schemas and pod security rules, and as kustomize builds them.
package kubernetes
