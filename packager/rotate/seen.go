package rotate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/internal/certs"
	"github.com/toskose/toskose/packager"
)

// State is the current credentials of manager and units.
type State struct {
	Manager Manager
	Units   []Unit
}

// Manager has the manager's current credentials.
type Manager struct {
	Passwords   int    // valid passwords of its own user
	Keys        int    // keys that verify documents; 0: it does not sign them
	Signed      bool   // all units store documents signed by the first key
	Certificate string // SHA-256
	Authorities []string
}

// Unit has a unit's current credentials.
type Unit struct {
	Node, Replica string
	Passwords     int    // valid passwords; 0: it does not reload them
	Known         int    // passwords that the manager has for it
	Accepted      bool   // it accepts the newest of those
	Certificate   string // SHA-256
	Authorities   []string
	Problem       string // the reason why it cannot be reached
}

func (u Unit) String() string { return fmt.Sprintf("the unit of %q at %s", u.Node, u.Replica) }

// Check returns an error if a unit could not confirm the steps.
func (r *Rotation) Check(s State) error {
	var problems []error
	for _, u := range s.Units {
		switch {
		case u.Problem != "":
			problems = append(problems, fmt.Errorf("%s cannot be reached: %s", u, u.Problem))
		case u.Passwords == 0:
			problems = append(problems, fmt.Errorf("%s does not reload its password, because it is of an earlier version: "+
				"package the application again and deploy it, then rotate", u))
		}
	}
	return errors.Join(problems...)
}

// waitUntil publishes the folder's secrets, and waits until the state lacks nothing.
func (r *Rotation) waitUntil(ctx context.Context, missing func(State) []string) error {
	if r.opts.Offline {
		return nil
	}
	if r.opts.Publish != nil {
		if err := r.opts.Publish(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	for {
		if err := r.markInProgress(); err != nil {
			return err
		}
		var yet []string
		state, err := r.opts.Ask(ctx)
		if err == nil {
			if yet = missing(state); len(yet) == 0 {
				return nil
			}
		}
		select {
		case <-time.After(r.opts.Poll):
		case <-ctx.Done():
			if err != nil {
				return fmt.Errorf("cannot reach the manager: %w", err)
			}
			return fmt.Errorf("not confirmed after %s: %s", r.opts.Timeout, strings.Join(yet, "; "))
		}
	}
}

// passwords lists the manager and units that do not have the wanted number of valid passwords.
func (r *Rotation) passwords(s State, want int) (missing []string) {
	if _, ok := r.Old[packager.ManagerPassword]; ok && s.Manager.Passwords != want {
		missing = append(missing, fmt.Sprintf("the manager accepts %d passwords", s.Manager.Passwords))
	}
	for _, u := range s.Units {
		_, ok := r.Old[packager.UnitPassword(u.Node)]
		switch {
		case u.Problem != "":
			missing = append(missing, fmt.Sprintf("%s cannot be reached: %s", u, u.Problem))
		case !ok:
		case u.Known != want:
			missing = append(missing, fmt.Sprintf("the manager has %d passwords for %s", u.Known, u))
		case u.Passwords != want || !u.Accepted:
			missing = append(missing, fmt.Sprintf("%s accepts %d passwords", u, u.Passwords))
		}
	}
	return missing
}

// keys lists the unfinished changes of the key that signs documents. A manager of an earlier
// release signs none.
func (r *Rotation) keys(s State, want int, signed bool) (missing []string) {
	if _, ok := r.Old[packager.ManagerSecretKey]; !ok || s.Manager.Keys == 0 {
		return nil
	}
	if s.Manager.Keys != want {
		missing = append(missing, fmt.Sprintf("the manager has %d secret keys instead of %d", s.Manager.Keys, want))
	}
	if signed && !s.Manager.Signed {
		missing = append(missing, "not all units store the goal signed with the new secret key")
	}
	return missing
}

// authorities lists the manager and units that do not trust the right authorities.
func (r *Rotation) authorities(s State, right func(authorities []string) bool) (missing []string) {
	if _, ok := r.Old[packager.TLSAuthority]; !ok {
		return nil
	}
	if !right(s.Manager.Authorities) {
		missing = append(missing, "the manager trusts other authorities")
	}
	for _, u := range s.Units {
		if u.Problem == "" && !right(u.Authorities) {
			missing = append(missing, fmt.Sprintf("%s trusts other authorities", u))
		}
	}
	return missing
}

func (r *Rotation) notAccepted(s State) []string {
	now := r.fingerprint(packager.TLSAuthority)
	missing := append(r.passwords(s, 2), r.keys(s, 2, false)...)
	return append(missing, r.authorities(s, func(all []string) bool { return slices.Contains(all, now) })...)
}

// notAcceptedByManager lists where the manager does not accept both old and new secrets yet.
func (r *Rotation) notAcceptedByManager(s State) (missing []string) {
	now := r.fingerprint(packager.TLSAuthority)
	missing = r.keys(s, 2, true)
	if _, ok := r.Old[packager.ManagerPassword]; ok && s.Manager.Passwords != 2 {
		missing = append(missing, fmt.Sprintf("the manager accepts %d passwords", s.Manager.Passwords))
	}
	if _, ok := r.Old[packager.TLSAuthority]; ok && !slices.Contains(s.Manager.Authorities, now) {
		missing = append(missing, "the manager trusts other authorities")
	}
	for _, u := range s.Units {
		switch _, ok := r.Old[packager.UnitPassword(u.Node)]; {
		case u.Problem != "":
			missing = append(missing, fmt.Sprintf("%s cannot be reached: %s", u, u.Problem))
		case ok && u.Known != 2:
			missing = append(missing, fmt.Sprintf("the manager has %d passwords for %s", u.Known, u))
		}
	}
	return missing
}

// notReplaced lists the units of a node that do not use exactly the new secrets.
func (r *Rotation) notReplaced(s State, node string) (missing []string) {
	there := false
	now := r.fingerprint(packager.TLSAuthority)
	for _, u := range s.Units {
		if u.Node != node {
			continue
		}
		there = true
		_, password := r.Old[packager.UnitPassword(node)]
		_, authority := r.Old[packager.TLSAuthority]
		cert := r.fingerprint(node + certSuffix)
		switch {
		case u.Problem != "":
			missing = append(missing, fmt.Sprintf("%s cannot be reached: %s", u, u.Problem))
		case password && (u.Passwords != 1 || !u.Accepted):
			missing = append(missing, fmt.Sprintf("%s has another password", u))
		case cert != "" && u.Certificate != cert:
			missing = append(missing, fmt.Sprintf("%s has another certificate", u))
		case authority && !slices.Equal(u.Authorities, []string{now}):
			missing = append(missing, fmt.Sprintf("%s trusts other authorities", u))
		}
	}
	if !there {
		missing = append(missing, fmt.Sprintf("no unit of %q responds", node))
	}
	return missing
}

func (r *Rotation) notRefused(s State) []string {
	now := r.fingerprint(packager.TLSAuthority)
	missing := append(r.passwords(s, 1), r.keys(s, 1, true)...)
	return append(missing, r.authorities(s, func(all []string) bool { return slices.Equal(all, []string{now}) })...)
}

func (r *Rotation) notUsed(s State) (missing []string) {
	missing = r.keys(s, 2, true)
	prints := map[string]string{} // by service
	units := map[string]bool{}
	for _, name := range r.names() {
		if service, ok := strings.CutSuffix(name, certSuffix); ok {
			prints[service] = r.fingerprint(name)
		}
	}
	for _, u := range s.Units {
		units[u.Node] = true
		switch want, ok := prints[u.Node]; {
		case u.Problem != "":
			missing = append(missing, fmt.Sprintf("%s cannot be reached: %s", u, u.Problem))
		case ok && u.Certificate != want:
			missing = append(missing, fmt.Sprintf("%s has another certificate", u))
		}
	}
	for service := range units {
		delete(prints, service)
	}
	for _, print := range prints {
		if print == s.Manager.Certificate {
			return missing
		}
	}
	if len(prints) > 0 {
		missing = append(missing, "the manager has another certificate")
	}
	return missing
}

// fingerprint returns the SHA-256 of a new certificate, or "".
func (r *Rotation) fingerprint(name string) string {
	if all := certs.Fingerprints([]byte(r.Secrets[name].Value)); len(all) > 0 {
		return all[0]
	}
	return ""
}
