package kubernetes

import (
	"strconv"
	"strings"

	"github.com/toskose/toskose/operator/levels"
	"github.com/toskose/toskose/packager"
)

// The levels of Kubernetes' Pod Security Standards.
const (
	levelPrivileged = "privileged"
	levelBaseline   = "baseline"
	levelRestricted = "restricted"
)

// security returns the security contexts of a service's pod and container. A container whose image runs as a non-root user
// needs no privileges; one that runs as root gets the runtime's defaults, because operations install software and change
// users.
func (w *writer) security(s packager.Service) (podSecurity, *containerSecurity) {
	pod, c := w.imageSecurity(s)
	if w.opts.OpenShift { // its security context constraints refuse users and groups outside of the namespace's range
		pod.User, pod.Group, pod.FSGroup = nil, nil, nil
	}
	return pod, c
}

// imageSecurity is security for the user and group of the image.
func (w *writer) imageSecurity(s packager.Service) (podSecurity, *containerSecurity) {
	pod := podSecurity{Seccomp: seccomp{"RuntimeDefault"}}
	user, group, ok := w.nonRoot(s)
	if !ok {
		pod.FSGroup = secretGroup(s)
		return pod, nil
	}
	pod.NonRoot, pod.User, pod.Group = true, &user, group
	if len(s.Mounts) > 0 || s.SecretUser != "" || s.IsToskosed { // otherwise a new volume belongs to root
		pod.FSGroup = &user
		if group != nil {
			pod.FSGroup = group
		}
	}
	never := false
	return pod, &containerSecurity{Escalation: &never, ReadOnlyRoot: s.IsManager, Capabilities: &capabilities{[]string{"ALL"}}}
}

// secretGroup returns the group that lets the service's user read its secrets, or nil for root. The user's ID is known from
// the base image.
func secretGroup(s packager.Service) *int64 {
	user, err := strconv.ParseInt(s.SecretUser, 10, 32)
	if err != nil || user == 0 {
		return nil
	}
	return &user
}

// nonRoot returns the numeric user and group of a service's image if they are known and not root. Kubernetes cannot verify
// that a user given by name is not root.
func (w *writer) nonRoot(s packager.Service) (user int64, group *int64, ok bool) {
	uid, gid, _ := strings.Cut(s.User, ":")
	user, err := strconv.ParseInt(uid, 10, 32)
	if err != nil || user == 0 {
		return 0, nil, false
	}
	if n, err := strconv.ParseInt(gid, 10, 32); err == nil {
		group = &n
	}
	return user, group, true
}

// level returns the strictest Pod Security level that all containers satisfy.
func (w *writer) level() string {
	level := levelRestricted
	for _, s := range w.plan.Services {
		if len(s.Binds) > 0 {
			return levelPrivileged
		}
		if _, _, ok := w.nonRoot(s); !ok {
			level = levelBaseline
		}
	}
	return level
}

// ownNamespace returns the application's own namespace. Components connect to Services by name, so two applications cannot
// share a namespace.
func (w *writer) ownNamespace() object {
	all := w.labels("")
	all["pod-security.kubernetes.io/enforce"] = w.level()
	if w.opts.Under != "" {
		all[levels.Enabled] = levels.EnabledValue
	}
	return object{APIVersion: "v1", Kind: "Namespace", Metadata: metadata{Name: w.app, Labels: all}}
}
