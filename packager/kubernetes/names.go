package kubernetes

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager"
)

// nameLength is what an RFC 1035 label may have, less what follows a
// workload's name in its pods' names, which are host names, too.
const nameLength = 63 - len("-0123456789-01234")

// The names of Services (RFC 1035 labels), which suit all other objects.
var (
	notInLabels = regexp.MustCompile(`[^a-z0-9]+`)
	labelForm   = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
)

func isLabel(name string) bool { return len(name) <= nameLength && labelForm.MatchString(name) }

// label makes a name of an object out of any.
func label(name string) string {
	if isLabel(name) {
		return name
	}
	made := strings.Trim(notInLabels.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if made == "" || made[0] < 'a' {
		made = strings.TrimSuffix("n-"+made, "-")
	}
	if len(made) > nameLength {
		made = packager.Shorten(made, name, nameLength)
	}
	return made
}

// labels names objects of one kind, no two the same. Names that are valid stay
// as they are.
func labels(names []string) map[string]string {
	out, taken := map[string]string{}, map[string]bool{}
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	for _, valid := range []bool{true, false} {
		for _, name := range sorted {
			if _, done := out[name]; done || isLabel(name) != valid {
				continue
			}
			made := label(name)
			if taken[made] {
				made = packager.Shorten(made, name, nameLength)
			}
			out[name], taken[made] = made, true
		}
	}
	return out
}
