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

// Packaged reports whether a folder contains an application packaged by toskose.
func Packaged(dir string) bool {
	_, err := choose(dir, "")
	return err == nil
}

// choose returns the target that a folder is deployed to. An empty result is the Docker engine, as a stack or with Compose.
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

// Name returns the name of the application that was packaged in a folder.
func Name(dir string) (string, error) {
	info, err := compose.ReadInfo(dir)
	if err != nil {
		cluster, err := kubernetes.ReadInfo(dir)
		return cluster.App, err
	}
	return info.App, nil
}

// NamespaceOf returns the Kubernetes namespace that a folder is deployed to, or "" for a Docker engine.
func NamespaceOf(dir, target string) (string, error) {
	kind, err := choose(dir, target)
	if err != nil || kind != Kubernetes {
		return "", err
	}
	info, err := kubernetes.ReadInfo(dir)
	return info.Namespace, err
}
