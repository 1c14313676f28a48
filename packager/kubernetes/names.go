package kubernetes

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager"
)

// nameLength is the maximum length of an RFC 1035 label, minus the suffix of a workload's pod names, which are also host
// names.
const nameLength = 63 - len("-0123456789-01234")

// The form of Service names (RFC 1035 labels), which is valid for all other objects too.
var (
	notInLabels = regexp.MustCompile(`[^a-z0-9]+`)
	labelForm   = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
)

func isLabel(name string) bool { return len(name) <= nameLength && labelForm.MatchString(name) }

// label converts any string to a valid object name.
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

// labels returns distinct object names. Valid names stay unchanged.
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
