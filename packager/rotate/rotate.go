// Package rotate replaces the passwords and certificates of an application while it runs, so
// that nothing it is asked meanwhile is refused: first what is new is accepted beside what
// is old, then it is used, then what is old is refused. Each step waits until manager and
// units say that it has come about; what was interrupted goes on where it was. It starts no
// goroutine.
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

// Options say what is replaced, and how what runs is reached.
type Options struct {
	Dir          string // what toskose has packaged
	Nodes        []string
	Passwords    bool // of units and of the manager's own user, and the key that signs tokens
	Certificates bool // of units and of the manager, by the same authority
	Authority    bool // of certificates, and all of those
	Offline      bool // the application does not run: nobody is asked

	Timeout time.Duration // for a step to be seen by all
	Poll    time.Duration // between two looks
	Random  io.Reader
	Now     time.Time
	Say     func(line string)

	// Ask asks the manager, by what the folder has at that time.
	Ask func(context.Context) (State, error)
	// Publish hands the folder's secrets to what runs; nil: it reads the files themselves.
	Publish func(context.Context) error
	// Where the application runs on a Swarm: what replaces its containers, and what is in them.
	// nil: it runs elsewhere.
	Swarm      Swarm
	Components Components
	Jobs       []string // containers that would run once more for a certificate that nobody asks for
	// Others are folders that other releases of the application were deployed from.
	Others []string
}

// The steps. Each may be taken again.
const (
	accept = 1 + iota // what is new, beside what is old
	use               // it
	refuse            // what is old
	follow            // in other folders and in copies of releases
)

// Run replaces what is to be, or goes on with what was interrupted.
func (r *Rotation) Run(ctx context.Context) error {
	if err := r.beat(); err != nil {
		return err
	}
	for _, step := range []struct {
		number int
		take   func(context.Context) error
	}{{accept, r.accept}, {use, r.use}, {refuse, r.refuse}, {follow, r.follow}} {
		if step.number <= r.Done {
			continue
		}
		if err := step.take(ctx); err != nil {
			return fmt.Errorf("%w\n`toskose rotate %s` goes on from here", err, r.opts.Dir)
		}
		r.Done = step.number
		if err := r.save(); err != nil {
			return err
		}
	}
	if _, ok := r.Secrets[packager.ManagerSecretKey]; ok && r.opts.Offline {
		r.say("the goal that the application's volumes keep was signed with the secret key of before, and is ignored from now on; set it again with `toskose goal set`")
	}
	return os.Remove(r.file(packager.RotationFile))
}

func (r *Rotation) accept(ctx context.Context) error {
	for _, name := range r.overlapping() {
		if err := output.Overwrite(r.file(name), r.old(name)+r.Secrets[name].Value); err != nil {
			return fmt.Errorf("cannot add to secret %q: %w", name, err)
		}
	}
	if r.opts.Swarm != nil {
		if err := r.offer(ctx); err != nil {
			return err
		}
		if err := r.seen(ctx, r.notOffered); err != nil {
			return err
		}
		r.say("the manager accepts what is new, beside what is old: %s", strings.Join(r.overlapping(), ", "))
		return nil
	}
	if err := r.seen(ctx, r.notAccepted); err != nil {
		return err
	}
	r.say("manager and units accept what is new, beside what is old: %s", strings.Join(r.overlapping(), ", "))
	return nil
}

func (r *Rotation) use(ctx context.Context) error {
	if err := r.prefer(); err != nil {
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
	if err := r.seen(ctx, r.notUsed); err != nil {
		return err
	}
	if len(names) > 0 {
		r.say("in use: %s", strings.Join(names, ", "))
	}
	return nil
}

// prefer has passwords be used that are accepted by now. Whoever reads a file while it is
// written finds both in it: each write leaves two lines alone, or cuts off what is there
// twice.
func (r *Rotation) prefer() error {
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

func (r *Rotation) refuse(ctx context.Context) error {
	if err := r.hold(r.opts.Dir); err != nil {
		return err
	}
	if r.opts.Swarm != nil {
		if err := r.settle(ctx); err != nil {
			return err
		}
	}
	if err := r.seen(ctx, r.notRefused); err != nil {
		return err
	}
	if names := r.overlapping(); len(names) > 0 {
		r.say("manager and units refuse what was before: %s", strings.Join(names, ", "))
	}
	return nil
}

// follow has copies of releases, and other folders with theirs, hold what is new: what is
// deployed from there, or goes back there, has the application's secrets.
func (r *Rotation) follow(ctx context.Context) error {
	var problems []error
	if r.opts.Swarm != nil {
		problems = append(problems, r.tidy(ctx))
		r.anew()
	}
	for _, dir := range append([]string{r.opts.Dir}, r.opts.Others...) {
		copies, err := filepath.Glob(filepath.Join(literal(dir), "releases", "*", output.SecretsDir))
		problems = append(problems, err)
		all := []string{dir}
		for _, c := range copies {
			all = append(all, filepath.Dir(c))
		}
		for _, one := range all {
			if err := r.hold(one); err != nil {
				problems = append(problems, fmt.Errorf("%q: %w", one, err))
			}
		}
	}
	return errors.Join(problems...)
}

// literal keeps a folder's name from being a pattern.
func literal(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// hold has a folder hold what is new, for good.
func (r *Rotation) hold(dir string) error {
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
		return nil //nolint:nilerr // somebody has removed it
	}
	return output.WriteSecret(dir, packager.NetrcFile, []byte(output.Netrc(string(old), r.Secrets[packager.ManagerPassword].Value)))
}
