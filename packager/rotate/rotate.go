// Package rotate replaces the passwords and certificates of a running application without
// refusing any request: the new secrets are accepted beside the old ones, then used, and then
// the old ones are revoked. Each step waits until the manager and all units have confirmed it,
// and an interrupted rotation can be resumed. It starts no goroutine.
package rotate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

// Options select the secrets, and connect the rotation to the running application.
type Options struct {
	Dir          string // the packaged folder
	Nodes        []string
	Passwords    bool // of units and of the manager's own user, and the key that signs tokens
	Certificates bool // of units and of the manager, by the same authority
	Authority    bool // of certificates, and all of those
	Offline      bool // the application is not running: only the folder changes

	Timeout time.Duration // for all units to confirm a step
	Poll    time.Duration // between two requests for the state
	Random  io.Reader
	Now     time.Time
	Say     func(line string)

	// Ask reads the state from the manager, with the folder's current credentials.
	Ask func(context.Context) (State, error)
	// Publish copies the folder's secrets to the running application; nil: it reads the folder's files.
	Publish func(context.Context) error
	// For an application on a Swarm, whose containers are replaced; otherwise nil.
	Swarm      Swarm
	Components Components
	Jobs       []string // containers that would run again for a certificate that nothing uses
	// Others are folders that other releases of the application were deployed from.
	Others []string
}

// The steps. Each can be repeated.
const (
	stepAccept = 1 + iota // accept new secrets beside the old ones
	stepUse               // use the new secrets
	stepRevoke            // revoke the old secrets
	stepCopies            // update other folders and copies of releases
)

// Run replaces the secrets, or resumes an interrupted rotation.
func (r *Rotation) Run(ctx context.Context) error {
	if err := r.markInProgress(); err != nil {
		return err
	}
	for _, step := range []struct {
		number int
		take   func(context.Context) error
	}{{stepAccept, r.addNewSecrets}, {stepUse, r.switchToNew}, {stepRevoke, r.removeOldSecrets}, {stepCopies, r.updateCopies}} {
		if step.number <= r.Done {
			continue
		}
		if err := step.take(ctx); err != nil {
			return fmt.Errorf("%w\nrun `toskose rotate %s` to resume", err, r.opts.Dir)
		}
		r.Done = step.number
		if err := r.save(); err != nil {
			return err
		}
	}
	if _, ok := r.Secrets[packager.ManagerSecretKey]; ok && r.opts.Offline {
		r.say("the goal in the application's volumes was signed with the old secret key, and is ignored from now on: set it again with `toskose goal`")
	}
	return os.Remove(r.file(packager.RotationFile))
}

func (r *Rotation) addNewSecrets(ctx context.Context) error {
	for _, name := range r.overlapping() {
		if err := output.Overwrite(r.file(name), r.old(name)+r.Secrets[name].Value); err != nil {
			return fmt.Errorf("cannot add to secret %q: %w", name, err)
		}
	}
	if r.opts.Swarm != nil {
		if err := r.mountBothAtManager(ctx); err != nil {
			return err
		}
		if err := r.waitUntil(ctx, r.notAcceptedByManager); err != nil {
			return err
		}
		r.say("the manager accepts new and old secrets: %s", strings.Join(r.overlapping(), ", "))
		return nil
	}
	if err := r.waitUntil(ctx, r.notAccepted); err != nil {
		return err
	}
	r.say("manager and units accept new and old secrets: %s", strings.Join(r.overlapping(), ", "))
	return nil
}

func (r *Rotation) switchToNew(ctx context.Context) error {
	if err := r.useNewPasswords(); err != nil {
		return err
	}
	var names []string
	for _, name := range r.names() {
		if _, ok := r.Old[name]; ok {
			continue
		}
		if err := output.Overwrite(r.file(name), r.Secrets[name].Value); err != nil {
			return fmt.Errorf("cannot replace secret %q: %w", name, err)
		}
		names = append(names, name)
	}
	if r.opts.Swarm != nil {
		if err := r.rollUnits(ctx); err != nil {
			return err
		}
	}
	if err := r.waitUntil(ctx, r.notUsed); err != nil {
		return err
	}
	if len(names) > 0 {
		r.say("in use: %s", strings.Join(names, ", "))
	}
	return nil
}

// useNewPasswords moves the new passwords, which are accepted by now, to the first line. A
// concurrent reader finds both in the file at any time: each write leaves two of the lines
// unchanged, or removes a duplicate.
func (r *Rotation) useNewPasswords() error {
	for _, name := range r.overlapping() {
		if name == packager.TLSAuthority {
			continue
		}
		old, now := r.old(name), r.Secrets[name].Value+"\n"
		for _, text := range []string{old + now + old, now + now + old} {
			if err := output.Overwrite(r.file(name), text); err != nil {
				return fmt.Errorf("cannot change secret %q: %w", name, err)
			}
		}
	}
	if _, ok := r.Old[packager.ManagerPassword]; ok {
		return r.netrc(r.opts.Dir)
	}
	return nil
}

func (r *Rotation) removeOldSecrets(ctx context.Context) error {
	if err := r.writeNewSecrets(r.opts.Dir); err != nil {
		return err
	}
	if r.opts.Swarm != nil {
		if err := r.mountNewAtManager(ctx); err != nil {
			return err
		}
	}
	if err := r.waitUntil(ctx, r.notRefused); err != nil {
		return err
	}
	if names := r.overlapping(); len(names) > 0 {
		r.say("manager and units refuse the old secrets: %s", strings.Join(names, ", "))
	}
	return nil
}

// updateCopies writes the new secrets to copies of releases and to other folders, so that a
// deployment from there, or a rollback, has the application's secrets.
func (r *Rotation) updateCopies(ctx context.Context) error {
	var problems []error
	if r.opts.Swarm != nil {
		problems = append(problems, r.removeOldSwarmSecrets(ctx))
		r.reportRecreated()
	}
	for _, dir := range append([]string{r.opts.Dir}, r.opts.Others...) {
		copies, err := filepath.Glob(filepath.Join(literal(dir), "releases", "*", output.SecretsDir))
		problems = append(problems, err)
		all := []string{dir}
		for _, c := range copies {
			all = append(all, filepath.Dir(c))
		}
		for _, one := range all {
			if err := r.writeNewSecrets(one); err != nil {
				problems = append(problems, fmt.Errorf("%q: %w", one, err))
			}
		}
	}
	return errors.Join(problems...)
}

// literal escapes a folder's name for a glob pattern.
func literal(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// writeNewSecrets leaves only the new secrets in a folder.
func (r *Rotation) writeNewSecrets(dir string) error {
	if err := output.Replace(dir, r.Secrets); err != nil {
		return err
	}
	has, err := output.Suffixes(dir)
	if err != nil {
		return nil //nolint:nilerr // it has no secrets
	}
	ours := func(name string) bool {
		s, ok := r.Secrets[name]
		return ok && has[name] == s.Suffix
	}
	if ours(packager.ManagerPassword) {
		if err := r.netrc(dir); err != nil {
			return err
		}
	}
	if r.Key != "" && ours(packager.TLSAuthority) {
		return output.WriteSecret(dir, packager.TLSAuthorityFile, []byte(r.Key))
	}
	return nil
}

func (r *Rotation) netrc(dir string) error {
	old, err := os.ReadFile(filepath.Join(dir, output.SecretsDir, packager.NetrcFile))
	if err != nil {
		return nil //nolint:nilerr // the user has removed it
	}
	return output.WriteSecret(dir, packager.NetrcFile, []byte(output.Netrc(string(old), r.Secrets[packager.ManagerPassword].Value)))
}
