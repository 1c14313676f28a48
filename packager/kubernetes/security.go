package kubernetes

import (
	"strconv"
	"strings"

	"github.com/toskose/toskose/packager"
)

// The levels of Kubernetes' Pod Security Standards.
const (
	levelPrivileged = "privileged"
	levelBaseline   = "baseline"
	levelRestricted = "restricted"
)

// security returns what a container may do. One whose image runs as another user
// than root gets by with nothing; one that runs as root needs the runtime's
// default, because operations install software and change users.
func (w *writer) security(s packager.Service) (podSecurity, *containerSecurity) {
	pod := podSecurity{Seccomp: seccomp{"RuntimeDefault"}}
	user, group, ok := w.nonRoot(s)
	if !ok {
		pod.FSGroup = secretGroup(s)
		return pod, nil
	}
	pod.NonRoot, pod.User, pod.Group = true, &user, group
	if len(s.Mounts) > 0 || s.SecretUser != "" || s.IsToskosed { // otherwise a new volume is root's
		pod.FSGroup = &user
		if group != nil {
			pod.FSGroup = group
		}
	}
	never := false
	return pod, &containerSecurity{Escalation: &never, ReadOnlyRoot: s.IsManager, Capabilities: &capabilities{[]string{"ALL"}}}
}

// secretGroup returns the group that lets a user of a name, whose number is known from the
// base image, read its secrets; nil: root does.
func secretGroup(s packager.Service) *int64 {
	user, err := strconv.ParseInt(s.SecretUser, 10, 32)
	if err != nil || user == 0 {
		return nil
	}
	return &user
}

// nonRoot returns the user and group of a service's image, if they are known and
// not root. Kubernetes takes a number only: a name may be anybody's.
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

// level is the strictest level that all containers pass.
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

// ownNamespace is the application's own namespace: names that components dial
// are names of Services, so two applications cannot share one.
func (w *writer) ownNamespace() object {
	all := w.labels("")
	all["pod-security.kubernetes.io/enforce"] = w.level()
	return object{APIVersion: "v1", Kind: "Namespace", Metadata: metadata{Name: w.app, Labels: all}}
}
