package rotate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

// Rotation is what is replaced, and how far that is. It is kept beside the secrets until
// all of it is done.
type Rotation struct {
	Begun time.Time `json:"begun"`
	Done  int       `json:"done"` // steps
	// Secrets are the new ones; Old, what is accepted beside them for a while.
	Secrets map[string]output.Replacement `json:"secrets"`
	Old     map[string]string             `json:"old"`
	Key     string                        `json:"key,omitempty"` // of a new authority

	// On a Swarm: what the manager mounts meanwhile, and how the components of nodes were
	// before their containers were replaced.
	Shared map[string]output.Replacement `json:"shared,omitempty"`
	Before map[string]Standing           `json:"before,omitempty"`

	Left []string `json:"-"` // what is not replaced, and why
	opts Options
}

const (
	certSuffix = "-tls.crt"
	keySuffix  = "-tls.key"
)

// drawn is a password that packaging has generated. Others are somebody's own.
var drawn = regexp.MustCompile(`^[a-z2-7]{40}$`)

// Begun reports whether a rotation of a folder's secrets is to be gone on with.
func Begun(dir string) bool { return output.Replacing(dir) != nil }

// New returns the rotation of a folder that was interrupted, or else a new one, which
// begins with Begin.
func New(opts Options) (*Rotation, error) {
	r := &Rotation{Begun: opts.Now.UTC().Truncate(time.Second), Old: map[string]string{}, opts: opts}
	data, err := os.ReadFile(r.file(packager.RotationFile))
	switch {
	case err == nil:
		if err := json.Unmarshal(data, r); err != nil {
			return nil, fmt.Errorf("cannot read how far the rotation is: %w", err)
		}
		return r, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	names, err := output.Suffixes(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("%q has no secrets that toskose has made: %w", opts.Dir, err)
	}
	values := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := r.add(name, values); err != nil {
			return nil, err
		}
	}
	if err := r.certify(slices.Sorted(maps.Keys(names)), values); err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("nothing of %q is to be replaced%s", opts.Dir, strings.Join(append([]string{""}, r.Left...), "; "))
	}
	if r.Secrets, err = output.Replacements(opts.Dir, values, opts.Random); err == nil && opts.Swarm != nil {
		err = r.share()
	}
	return r, err
}

// add has a password be replaced, if it is one and is to be.
func (r *Rotation) add(name string, values map[string]string) error {
	key := name == packager.ManagerSecretKey
	unit := slices.ContainsFunc(r.opts.Nodes, func(node string) bool { return packager.UnitPassword(node) == name })
	if !r.opts.Passwords || !key && !unit && name != packager.ManagerPassword {
		return nil
	}
	old, err := r.read(name)
	if err != nil {
		return err
	}
	if !drawn.MatchString(old) {
		r.Left = append(r.Left, fmt.Sprintf("%s stays: it was not generated", name))
		return nil
	}
	values[name], err = output.Password(r.opts.Random)
	r.Old[name] = old
	return err
}

// certify has certificates be replaced, and their authority, if they are to be.
func (r *Rotation) certify(names []string, values map[string]string) error {
	if slices.Contains(names, packager.ManagerCertificate) && (r.opts.Certificates || r.opts.Authority) {
		r.Left = append(r.Left, fmt.Sprintf("%s stays: it is the certificate of manager.tls", packager.ManagerCertificate))
	}
	if !slices.Contains(names, packager.TLSAuthority) || !r.opts.Certificates && !r.opts.Authority {
		if r.opts.Authority {
			return fmt.Errorf("%q was packaged without --tls: it has no certificates", r.opts.Dir)
		}
		return nil
	}
	cert, err := r.text(packager.TLSAuthority)
	key, other := r.text(packager.TLSAuthorityFile)
	if err = errors.Join(err, other); err != nil && !r.opts.Authority {
		return fmt.Errorf("certificates cannot be signed (--authority makes another authority): %w", err)
	}
	by := output.Certificate{Cert: cert, Key: key}
	if r.opts.Authority {
		if by, err = output.NewAuthority(r.opts.Now); err != nil {
			return err
		}
		r.Old[packager.TLSAuthority], r.Key, values[packager.TLSAuthority] = cert, by.Key, by.Cert
	}
	for _, name := range names {
		service, ok := strings.CutSuffix(name, certSuffix)
		if !ok || !slices.Contains(names, service+keySuffix) || slices.Contains(r.opts.Jobs, service) && !r.opts.Authority {
			continue
		}
		old, err := r.text(name)
		if err != nil {
			return err
		}
		now, err := output.Reissue(old, by, r.opts.Now)
		if err != nil {
			return fmt.Errorf("cannot make the certificate of %q: %w", service, err)
		}
		values[name], values[service+keySuffix] = now.Cert, now.Key
	}
	return nil
}

// Begin keeps what is to be done, so that it can be gone on with.
func (r *Rotation) Begin() error { return r.save() }

func (r *Rotation) save() error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return output.WriteSecret(r.opts.Dir, packager.RotationFile, append(data, '\n'))
}

// beat tells those who ask the manager meanwhile that it may be on its way.
func (r *Rotation) beat() error { return output.Beat(r.opts.Dir) }

// Describe says what is replaced.
func (r *Rotation) Describe() []string {
	var passwords, certificates []string
	for _, name := range r.names() {
		switch {
		case strings.HasSuffix(name, keySuffix):
		case strings.HasSuffix(name, certSuffix) || name == packager.TLSAuthority:
			certificates = append(certificates, name)
		default:
			passwords = append(passwords, name)
		}
	}
	var all []string
	for kind, names := range map[string][]string{"passwords": passwords, "certificates": certificates} {
		if len(names) > 0 {
			all = append(all, kind+": "+strings.Join(names, ", "))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(b, a) })
	if _, ok := r.Secrets[packager.ManagerSecretKey]; ok {
		all = append(all, "tokens and sessions of users end; whoever knows the password of the manager's own user needs the new one")
	}
	return append(all, r.Left...)
}

// names are those of what is replaced.
func (r *Rotation) names() []string { return slices.Sorted(maps.Keys(r.Secrets)) }

// overlapping are those of what is accepted beside what is old.
func (r *Rotation) overlapping() []string { return slices.Sorted(maps.Keys(r.Old)) }

// old is what is accepted beside what is new, with a line's end.
func (r *Rotation) old(name string) string { return strings.TrimRight(r.Old[name], "\n") + "\n" }

func (r *Rotation) file(name string) string {
	return filepath.Join(r.opts.Dir, output.SecretsDir, name)
}

func (r *Rotation) text(name string) (string, error) {
	data, err := os.ReadFile(r.file(name))
	return string(data), err
}

func (r *Rotation) read(name string) (string, error) {
	text, err := r.text(name)
	return strings.TrimRight(text, "\r\n"), err
}

func (r *Rotation) say(format string, args ...any) { r.opts.Say(fmt.Sprintf(format, args...)) }
