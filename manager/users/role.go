package users

import (
	"fmt"
	"slices"
	"strings"
)

// Role is a set of permissions; each role includes the previous ones.
type Role string

// The roles. The empty role has no permissions.
const (
	Viewer   Role = "viewer"   // may read
	Operator Role = "operator" // may run and stop operations, and set the goal
	Admin    Role = "admin"    // may do everything, including clearing logs and reloading units
)

// Roles are all roles, in ascending order.
var Roles = []Role{Viewer, Operator, Admin}

// Includes reports whether a role has the permissions of another. No role includes an unknown one.
func (r Role) Includes(needed Role) bool {
	n := slices.Index(Roles, needed)
	return n >= 0 && slices.Index(Roles, r) >= n
}

// ParseRole reads the name of a role.
func ParseRole(name string) (Role, error) {
	if r := Role(name); slices.Contains(Roles, r) {
		return r, nil
	}
	names := make([]string, 0, len(Roles))
	for _, r := range Roles {
		names = append(names, string(r))
	}
	return "", fmt.Errorf("%q is not a role: %s", name, strings.Join(names, ", "))
}
