package conflict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/packager/compose"
)

// Parts returns an error if a container or swarm service of another application has a name that one of the given services
// would get. Compose separates the parts of names with hyphens, which names may contain: service "web-db" of "shop" conflicts
// with service "db" of "shop-web".
func (e *Engine) Parts(ctx context.Context, services []string) error {
	if e.swarm {
		return e.partsOfStack(ctx, services)
	}
	containers, err := e.containers(ctx)
	if err != nil {
		return err
	}
	var problems []error
	for _, c := range containers {
		prefix, number, ok := cutLast(first(c.Names), "-")
		name, within := strings.CutPrefix(prefix, e.app+"-")
		if ok && within && isNumber(number) && c.Labels[compose.LabelProject] != e.app && slices.Contains(services, name) {
			problems = append(problems, named(name, whose("container", first(c.Names), c.Labels)))
		}
	}
	return errors.Join(problems...)
}

func (e *Engine) partsOfStack(ctx context.Context, services []string) error {
	taken, err := e.services(ctx)
	if err != nil {
		return err
	}
	var problems []error
	for _, s := range taken {
		name, within := strings.CutPrefix(s.Spec.Name, e.app+"_")
		if within && s.Spec.Labels[compose.LabelStack] != e.app && slices.Contains(services, name) {
			problems = append(problems, named(name, whose("service", s.Spec.Name, s.Spec.Labels)))
		}
	}
	return errors.Join(problems...)
}

// named returns an error for a service whose name is in use.
func named(service, who string) error {
	return fmt.Errorf("%q would have the name of %s: package it under another name, with --name", service, who)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}
