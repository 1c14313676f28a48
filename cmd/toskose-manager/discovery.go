package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/toskose/toskose/manager/discovery"
)

// readDiscovery reads how to find replicas. In a pod, the mode is always Alias, even if the
// manifest was converted from a Compose file that sets another mode; a missing domain is taken
// from the pod's resolver configuration.
func (s *settings) readDiscovery(getenv func(string) string, resolver string) error {
	var problems []error
	mode, err := discovery.ParseMode(getenv("TOSKOSE_DISCOVERY"))
	problems = append(problems, wrap("TOSKOSE_DISCOVERY", err))
	s.mode, s.discovery.Domain = mode, getenv("TOSKOSE_DISCOVERY_DOMAIN")
	s.discovery.Names, err = otherNames(getenv("TOSKOSE_DISCOVERY_NAMES"))
	problems = append(problems, wrap("TOSKOSE_DISCOVERY_NAMES", err))
	s.discovery.Units, err = otherNames(getenv("TOSKOSE_DISCOVERY_UNITS"))
	problems = append(problems, wrap("TOSKOSE_DISCOVERY_UNITS", err))
	if err == nil && getenv("KUBERNETES_SERVICE_HOST") != "" {
		s.mode = discovery.Alias
		if s.discovery.Domain == "" {
			s.discovery.Domain, err = podDomain(resolver)
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// otherNames reads ALIAS=NAME,ALIAS=NAME.
func otherNames(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	names := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		alias, name, ok := strings.Cut(pair, "=")
		if !ok || alias == "" || name == "" {
			return nil, fmt.Errorf("%q is not ALIAS=NAME", pair)
		}
		names[alias] = name
	}
	return names, nil
}

// podDomain is the first search domain of a pod, which is its namespace's:
// NAMESPACE.svc.cluster.local (Kubernetes, "DNS for Services and Pods").
func podDomain(resolver string) (string, error) {
	data, err := os.ReadFile(resolver)
	if err != nil {
		return "", fmt.Errorf("cannot find the namespace's domain, which TOSKOSE_DISCOVERY_DOMAIN can set: %w", err)
	}
	domain := ""
	for line := range strings.Lines(string(data)) {
		// The last of several lines counts (resolv.conf(5)).
		if words := strings.Fields(line); len(words) > 1 && words[0] == "search" {
			domain = words[1]
		}
	}
	if !strings.Contains(domain, ".svc.") {
		return "", fmt.Errorf("cannot find the namespace's domain in %s: it has no search domain of Services; set TOSKOSE_DISCOVERY_DOMAIN", resolver)
	}
	return domain, nil
}
