package deploy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubernetes"
)

// Packaged reports whether toskose has packaged an application in a folder.
func Packaged(dir string) bool {
	_, err := choose(dir, "")
	return err == nil
}

// choose returns the target that a folder is deployed to. Empty: the engine, as
// a stack or by Compose.
func choose(dir, target string) (string, error) {
	need := func(name, kind string) error {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return fmt.Errorf("%q was not packaged by toskose for --target %s: it has no %s", dir, kind, name)
	}
	switch target {
	case Swarm:
		return target, need(compose.SwarmFile, target)
	case Compose:
		return target, errors.Join(need(compose.SwarmFile, target), need(compose.LocalFile, target))
	case Kubernetes:
		return target, need(kubernetes.Kustomization, target)
	}
	if need(compose.SwarmFile, Swarm) == nil {
		return "", nil
	}
	if need(kubernetes.Kustomization, Kubernetes) == nil {
		return Kubernetes, nil
	}
	return "", fmt.Errorf("%q was not packaged by toskose: it has neither %s nor %s", dir, compose.SwarmFile, kubernetes.Kustomization)
}

// Name returns that of the application that was packaged in a folder.
func Name(dir string) (string, error) {
	info, err := compose.ReadInfo(dir)
	if err != nil {
		cluster, err := kubernetes.ReadInfo(dir)
		return cluster.App, err
	}
	return info.App, nil
}

// NamespaceOf returns the namespace that a folder is deployed to; empty: it is deployed to an
// engine.
func NamespaceOf(dir, target string) (string, error) {
	kind, err := choose(dir, target)
	if err != nil || kind != Kubernetes {
		return "", err
	}
	info, err := kubernetes.ReadInfo(dir)
	return info.Namespace, err
}
