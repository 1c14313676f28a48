package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager"
)

var (
	// A Swarm's name of a service is STACK_SERVICE, and one label of the DNS.
	serviceForm   = regexp.MustCompile(`^[A-Za-z0-9]([_-]*[A-Za-z0-9])*$`)
	notInServices = regexp.MustCompile(`[^A-Za-z0-9]+`)
	dnsLabelForm  = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)
	letter        = regexp.MustCompile(`[A-Za-z]`)
)

// mostOfAName is what a Swarm's name of a service may have (swarmkit's
// validateAnnotations).
const mostOfAName = 63

// serviceNames gives what each service is called in the Compose files: its own
// name, where a Swarm takes that. No two differ by case only (packager.New).
func serviceNames(plan *packager.Plan) map[string]string {
	most := mostOfAName - len(plan.App) - len("_")
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
			made = cut(made, s.Name, most)
		}
		out[s.Name], taken[strings.ToLower(made)] = made, true
	}
	return out
}

// cut shortens a name, and ends it in a digest of what it stands for.
func cut(made, name string, most int) string {
	sum := sha256.Sum256([]byte(name))
	digest := "-" + hex.EncodeToString(sum[:4])
	return strings.TrimRight(made[:min(len(made), most-len(digest))], "-_") + digest
}

// resolvable tells whether resolvers look a name up, also with "tasks." before
// it.
func resolvable(name string) bool {
	return len(name) < 240 && letter.MatchString(name) &&
		!slices.ContainsFunc(strings.Split(name, "."), func(label string) bool { return !dnsLabelForm.MatchString(label) })
}

// otherNames says by which name the manager finds the containers whose alias no
// resolver looks up (TOSKOSE_DISCOVERY_NAMES).
func otherNames(plan *packager.Plan, services map[string]string) string {
	var pairs []string
	for _, s := range plan.Services {
		if alias := plan.Config.Nodes[s.Name].Alias; alias != "" && !resolvable(alias) {
			pairs = append(pairs, alias+"="+services[s.Name])
		}
	}
	return strings.Join(pairs, ",")
}
