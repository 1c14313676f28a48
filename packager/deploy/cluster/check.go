package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// Check returns an error if external secrets of the folder do not exist, or if objects in the namespace belong to others.
func (c *Cluster) Check(ctx context.Context) error {
	if err := errors.Join(c.checkOperator(ctx), c.checkSecrets(ctx)); err != nil {
		return err
	}
	return errors.Join(c.checkVolumes(ctx), c.checkOwners(ctx))
}

// checkVolumes returns an error for external volumes whose claims do not exist.
func (c *Cluster) checkVolumes(ctx context.Context) error {
	if len(c.info.ExternalVolumes) == 0 {
		return nil
	}
	have, err := c.in.Names(ctx, volumeKinds)
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(c.info.ExternalVolumes)) {
		if claim := c.info.ExternalVolumes[name]; !slices.Contains(have, "persistentvolumeclaim/"+claim) {
			problems = append(problems, fmt.Errorf("volume %q is external, and namespace %q has no persistentvolumeclaim %q: create it there (`kubectl --namespace %s apply -f CLAIM.yaml`), or name another by volumes.%s.name in toskose.yml",
				name, c.info.Namespace, claim, c.info.Namespace, name))
		}
	}
	return errors.Join(problems...)
}

// checkSecrets returns an error if external secrets do not exist.
func (c *Cluster) checkSecrets(ctx context.Context) error {
	if len(c.info.External) == 0 {
		return nil
	}
	have, err := c.in.Names(ctx, secretKinds)
	if err != nil {
		return err
	}
	for i, name := range have {
		have[i] = strings.TrimPrefix(name, "secret/")
	}
	return backend.MissingSecrets(fmt.Sprintf("namespace %q", c.info.Namespace), c.info.External, have,
		"kubectl --namespace "+c.info.Namespace+" create secret generic %s --from-file=KEY=FILE")
}

// checkOwners returns an error if the namespace contains objects of the manifests that do not belong to the application: deploying
// would change them, and undeploying would remove them.
func (c *Cluster) checkOwners(ctx context.Context) error {
	found, err := c.all.Objects(ctx, "get", "--kustomize", c.Dir, "--ignore-not-found")
	if err != nil {
		return err
	}
	var problems []error
	for _, o := range found {
		app, ours := c.info.Owner(o.Metadata.Labels)
		if ours || o.Kind == "Namespace" && app == "" { // the namespace was created for the application
			continue
		}
		whose := "toskose has not created it"
		if app != "" {
			whose = fmt.Sprintf("it belongs to application %q", app)
		}
		problems = append(problems, fmt.Errorf("namespace %q has a %s %q already, and %s: package it for another namespace, with --namespace or --name",
			c.info.Namespace, strings.ToLower(o.Kind), o.Metadata.Name, whose))
	}
	return errors.Join(problems...)
}
