package backend

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager/command"
)

// Suffixes maps each secret of a deployed application to the suffixes of its names on the platform. A secret may have several.
type Suffixes map[string][]string

// Add adds a suffix unless it is already listed.
func (s Suffixes) Add(name, suffix string) {
	if !slices.Contains(s[name], suffix) {
		s[name] = append(s[name], suffix)
	}
}

// MissingSecrets returns an error that lists the external secrets that do not exist, with the commands that create them.
func MissingSecrets(where string, want, have []string, how string) error {
	var lines []string
	for _, name := range want {
		if !slices.Contains(have, name) {
			lines = append(lines, fmt.Sprintf(how, name))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("the %s lacks %d of the %d external secrets; create them:%s", where, len(lines), len(want), command.Indented(strings.Join(lines, "\n")))
}
