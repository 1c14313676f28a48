package packager

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// minLeakLength is the minimum length of a secret for which a longer value containing it is reported
// as a leak.
const minLeakLength = 6

// checkLeaks warns if the value of a secret is also written in plain text, under a name that
// `secrets` does not list.
func (p *planner) checkLeaks() {
	warned := map[string]bool{}
	leak := func(value, format string, args ...any) {
		for _, s := range p.plan.Secrets {
			given := strings.TrimRight(s.Given, "\n")
			if !s.Application || value != given && (len(given) < minLeakLength || !strings.Contains(value, given)) {
				continue
			}
			where := fmt.Sprintf(format, args...)
			if key := s.Name + " " + where; !warned[key] {
				warned[key] = true
				p.warn("secret %q: its value is also in %s, in the clear", s.Name, where)
			}
		}
	}
	for _, n := range p.app.Nodes {
		for _, name := range slices.Sorted(maps.Keys(n.Env)) {
			if !p.hidden(n.Name, name) {
				leak(n.Env[name], "the variable %s of the container %q, which secrets can list as %s.%s", name, n.Name, n.Name, name)
			}
		}
		leak(n.Command, "the command of the container %q", n.Name)
	}
	for _, c := range p.app.Components {
		for _, o := range c.Operations() {
			for _, in := range o.Inputs {
				if !p.hidden(c.Name, in.Name) {
					leak(p.inputValue(c, in), "the input %q of the component %q, which secrets can list as %s.%s", in.Name, c.Name, c.Name, in.Name)
				}
			}
		}
	}
	for _, v := range p.plan.Volumes {
		for _, key := range slices.Sorted(maps.Keys(v.Options)) {
			leak(v.Options[key], "the option %s of the volume %q", key, v.Name)
		}
	}
}
