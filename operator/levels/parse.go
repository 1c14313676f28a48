package levels

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A level's names are DNS labels (RFC 1035), as CustomResourceDefinitions require; a group is a DNS name.
var (
	nameForm  = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	groupForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`)
)

const (
	maxLabel  = 63
	maxDomain = 253
)

// fields are the fields of a level beside its list, which has the plural of the next lower kind as its name.
var fields = []string{"name", "deploy", "ready", "deployed", "conditions"}

// Parse reads a structure: names of levels, highest first, separated by commas, each optionally followed by a colon and its
// plural. An empty text has no levels. The error has all problems.
func Parse(text, group string) (Structure, error) {
	var s Structure
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if why := refuseGroup(group); why != "" {
		refuse("group %q %s", group, why)
	}
	if text == "" {
		return s, errors.Join(problems...)
	}
	taken := map[string]string{}
	for _, word := range strings.Split(text, ",") {
		k := parseKind(word, group)
		s = append(s, k)
		for _, name := range []string{k.Singular, k.Plural} {
			if why := refuseName(name); why != "" {
				refuse("level %q: %q %s", k.Singular, name, why)
			} else if of, ok := taken[name]; ok {
				refuse("level %q: %q is a name of level %q already", k.Singular, name, of)
			}
		}
		if k.Singular == k.Plural {
			refuse("level %q: its plural must differ from its name", k.Singular)
		}
		if slices.Contains(fields, k.Plural) {
			refuse("level %q: %q is a field of every level, so it cannot be a plural", k.Singular, k.Plural)
		}
		if len(k.Resource()) > maxDomain {
			refuse("level %q: %q has more than %d characters", k.Singular, k.Resource(), maxDomain)
		}
		taken[k.Singular], taken[k.Plural] = k.Singular, k.Singular
	}
	if len(s) > MaxLevels {
		refuse("%d levels are more than %d", len(s), MaxLevels)
	}
	return s, errors.Join(problems...)
}

func parseKind(word, group string) Kind {
	singular, plural, given := strings.Cut(strings.TrimSpace(word), ":")
	if !given {
		plural = singular + "s"
	}
	return Kind{Group: group, Singular: singular, Plural: plural, Kind: KindName(singular)}
}

// KindName returns the kind of a level, which is its name with its first letter capitalised.
func KindName(singular string) string {
	if singular == "" {
		return ""
	}
	return strings.ToUpper(singular[:1]) + singular[1:]
}

// IsName reports whether a level can have a name.
func IsName(name string) bool { return len(name) <= maxLabel && nameForm.MatchString(name) }

// refuseName returns the reason why a singular or plural is not possible, or "".
func refuseName(name string) string {
	switch {
	case len(name) > maxLabel:
		return fmt.Sprintf("has more than %d characters", maxLabel)
	case !nameForm.MatchString(name):
		return "is not a name for a kind: small letters, digits and '-', with a letter first"
	case slices.Contains(ofToskose, name):
		return "is a name that Toskose has already"
	case slices.Contains(ofKubernetes, name):
		return "is a name that Kubernetes has already"
	}
	return ""
}

func refuseGroup(group string) string {
	switch {
	case len(group) > maxDomain:
		return fmt.Sprintf("has more than %d characters", maxDomain)
	case !groupForm.MatchString(group):
		return "is not a DNS name with at least one dot"
	case strings.HasSuffix("."+group, ".k8s.io") || strings.HasSuffix("."+group, ".kubernetes.io"):
		return "is reserved for Kubernetes"
	}
	return ""
}
