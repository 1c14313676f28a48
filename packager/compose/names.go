package compose

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager"
)

var (
	// A Swarm names a service STACK_SERVICE, and uses that as one DNS label.
	serviceForm   = regexp.MustCompile(`^[A-Za-z0-9]([_-]*[A-Za-z0-9])*$`)
	notInServices = regexp.MustCompile(`[^A-Za-z0-9]+`)
	dnsLabelForm  = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)
	letter        = regexp.MustCompile(`[A-Za-z]`)
)

// maxNameLength is the maximum length of a Swarm service's name (swarmkit's validateAnnotations).
const maxNameLength = 63

// ServiceNames maps each service to its name in the Compose files: unchanged if a Swarm allows it. No two names differ only by
// case (see packager.New).
func ServiceNames(plan *packager.Plan) map[string]string {
	most := maxNameLength - len(plan.App) - len("_")
	valid := func(name string) bool {
		return len(name) <= most && serviceForm.MatchString(name) && letter.MatchString(name)
	}
	out, taken := map[string]string{}, map[string]bool{}
	for _, s := range plan.Services {
		if valid(s.Name) {
			out[s.Name], taken[strings.ToLower(s.Name)] = s.Name, true
		}
	}
	for _, s := range plan.Services {
		if out[s.Name] != "" {
			continue
		}
		made := strings.Trim(notInServices.ReplaceAllString(s.Name, "-"), "-")
		if !letter.MatchString(made) {
			made = "n-" + made
		}
		if len(made) > most || taken[strings.ToLower(made)] {
			made = packager.Shorten(made, s.Name, most)
		}
		out[s.Name], taken[strings.ToLower(made)] = made, true
	}
	return out
}

// resolvable reports whether DNS can resolve a name, also with the prefix "tasks.".
func resolvable(name string) bool {
	return len(name) < 240 && letter.MatchString(name) &&
		!slices.ContainsFunc(strings.Split(name, "."), func(label string) bool { return !dnsLabelForm.MatchString(label) })
}
