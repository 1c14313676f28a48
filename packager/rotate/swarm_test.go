package rotate_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/certs"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/rotate"
	"github.com/toskose/toskose/unit/wire"
)

// swarm is an application on a Swarm: what each service mounts, and how its containers came
// about. A call may break off.
type swarm struct {
	t       *testing.T
	dir     string
	mounted map[string]map[string]output.Replacement // by service and name
	updated []string                                 // services, each time that their containers were replaced
	settles map[string]int                           // how often one is asked for before it has settled
	drained map[string]bool
	busy    map[string]int // how often a node has to be asked before nothing runs on it
	stopped map[string]int // how often somebody has only just stopped something of it
	goal    bool
	tidied  map[string][]string

	calls, breakAt int
	breakOff       context.CancelFunc
}

var (
	errBroken = errors.New("broken off")
	units     = []string{"backend", "frontend"}
)

// onSwarm has a folder's secrets mounted by the manager, by two units, and by a job.
func onSwarm(t *testing.T, secure bool) *swarm {
	t.Helper()
	s := &swarm{
		t: t, dir: packagedWith(t, secure, "backend", "frontend", "job"), mounted: map[string]map[string]output.Replacement{}, settles: map[string]int{}, drained: map[string]bool{},
		busy: map[string]int{"backend": 2}, stopped: map[string]int{"frontend": 1}, goal: true,
	}
	suffixes, err := output.Suffixes(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	own := func(service string) []string {
		names := []string{packager.TLSAuthority, service + "-tls.crt", service + "-tls.key"}
		if service != "toskose-manager" {
			return append(names, packager.UnitPassword(service))
		}
		return append(names, "backend-password", "frontend-password", packager.ManagerPassword, packager.ManagerSecretKey)
	}
	for _, service := range []string{"toskose-manager", "backend", "frontend", "job"} {
		s.mounted[service] = map[string]output.Replacement{}
		for _, name := range own(service) {
			if suffixes[name] != "" {
				s.mounted[service][name] = output.Replacement{Value: s.file(name), Suffix: suffixes[name]}
			}
		}
	}
	return s
}

func (s *swarm) file(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, output.SecretsDir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// call counts one, and breaks off the whole at one of them.
func (s *swarm) call() error {
	if rotate.Begun(s.dir) && !output.IsRotating(s.dir) {
		s.t.Error("whoever asks the manager does not learn that it may be replaced")
	}
	if s.calls++; s.calls == s.breakAt {
		s.breakOff()
		return errBroken
	}
	return nil
}

func (s *swarm) Services(context.Context) (all []rotate.Service, err error) {
	for _, name := range slices.Sorted(maps.Keys(s.mounted)) {
		one := rotate.Service{Name: name, Node: name, Manager: name == "toskose-manager", Managed: slices.Contains(units, name), Secrets: map[string]string{}}
		for secret, value := range s.mounted[name] {
			one.Secrets[secret] = value.Suffix
		}
		all = append(all, one)
	}
	return all, s.call()
}

func (s *swarm) Mount(_ context.Context, service string, secrets map[string]output.Replacement) error {
	if err := s.call(); err != nil {
		return err
	}
	changed := false
	for name, was := range s.mounted[service] {
		if now, ok := secrets[name]; ok && now.Suffix != was.Suffix {
			s.mounted[service][name], changed = now, true
		}
	}
	if changed {
		s.updated = append(s.updated, service)
		s.settles[service] = 1
		if slices.Contains(units, service) && !s.drained[service] {
			s.t.Errorf("the containers of %s are replaced while operations may begin in them", service)
		}
		s.understood()
	}
	return s.call()
}

func (s *swarm) Settled(_ context.Context, service string) (string, error) {
	if s.settles[service] > 0 {
		s.settles[service]--
		return "it is being updated", s.call()
	}
	return "", s.call()
}

func (s *swarm) Tidy(_ context.Context, names map[string][]string) error {
	s.tidied = names
	return s.call()
}

func (s *swarm) Drain(_ context.Context, node string) ([]string, error) {
	s.drained[node] = true
	if s.busy[node] > 0 {
		s.busy[node]--
		return []string{"start of " + node + " runs"}, s.call()
	}
	return nil, s.call()
}

func (s *swarm) Undrain(ctx context.Context, node string) error {
	delete(s.drained, node)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.call()
}

func (s *swarm) State(_ context.Context, node string) (rotate.NodeState, error) {
	is := rotate.NodeState{Goal: s.goal, Done: true, States: map[string]string{node + "s": "running"}, Created: []string{node + "s"}}
	if s.stopped[node] > 0 && s.drained[node] {
		s.stopped[node]--
		is.Changing = []string{node + "s has just been stopped"}
	}
	if !s.goal {
		is.States[node+"s"] = ""
	}
	return is, s.call()
}

func (s *swarm) values(service, name string) string { return s.mounted[service][name].Value }

func (s *swarm) lines(service, name string) []string {
	return wire.Passwords([]byte(s.values(service, name)))
}

// ask is what the manager answers.
func (s *swarm) ask(context.Context) (rotate.State, error) {
	fingerprints := func(service, name string) []string { return certs.Fingerprints([]byte(s.values(service, name))) }
	first := func(all []string) string { return append(all, "")[0] }
	is := rotate.State{Manager: rotate.Manager{
		Passwords:   len(s.lines("toskose-manager", packager.ManagerPassword)),
		Certificate: first(fingerprints("toskose-manager", "toskose-manager-tls.crt")), Authorities: fingerprints("toskose-manager", packager.TLSAuthority),
	}}
	for _, node := range units {
		known, own := s.lines("toskose-manager", packager.UnitPassword(node)), s.lines(node, packager.UnitPassword(node))
		is.Units = append(is.Units, rotate.Unit{
			Node: node, Replica: node, Passwords: len(own), Known: len(known), Accepted: slices.Contains(own, known[len(known)-1]),
			Certificate: first(fingerprints(node, node+"-tls.crt")), Authorities: fingerprints(node, packager.TLSAuthority),
		})
	}
	return is, s.call()
}

// understood checks that manager and units believe each other.
func (s *swarm) understood() {
	s.t.Helper()
	roots := func(service string) *x509.CertPool {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM([]byte(s.values(service, packager.TLSAuthority)))
		return pool
	}
	leaves := func(service string) (all []*x509.Certificate) {
		for text := []byte(s.values(service, service+"-tls.crt")); ; {
			var block *pem.Block
			if block, text = pem.Decode(text); block == nil {
				return all
			}
			leaf, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				s.t.Fatal(err)
			}
			all = append(all, leaf)
		}
	}
	for _, node := range units {
		password := packager.UnitPassword(node)
		if !slices.ContainsFunc(s.lines("toskose-manager", password), func(one string) bool { return slices.Contains(s.lines(node, password), one) }) {
			s.t.Errorf("the manager has no password that %s accepts", node)
		}
		if s.values(node, packager.TLSAuthority) == "" {
			continue
		}
		if _, err := leaves(node)[0].Verify(x509.VerifyOptions{Roots: roots("toskose-manager")}); err != nil {
			s.t.Errorf("the manager does not believe %s: %v", node, err)
		}
		if !slices.ContainsFunc(leaves("toskose-manager"), func(leaf *x509.Certificate) bool {
			_, err := leaf.Verify(x509.VerifyOptions{Roots: roots(node)})
			return err == nil
		}) {
			s.t.Errorf("%s believes no certificate of the manager", node)
		}
		if _, err := tls.X509KeyPair([]byte(s.values(node, node+"-tls.crt")), []byte(s.values(node, node+"-tls.key"))); err != nil {
			s.t.Error(err)
		}
	}
}

// rotate replaces secrets, or goes on with that; it may be broken off.
func (s *swarm) rotate(choose func(*rotate.Options), breakAt int) (said []string, err error) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	s.calls, s.breakAt, s.breakOff = 0, breakAt, cancel
	opts := rotate.Options{
		Dir: s.dir, Nodes: units, Jobs: []string{"job"}, Swarm: s, Components: s, Ask: s.ask, Timeout: time.Minute, Poll: time.Millisecond, Random: rand.Reader, Now: time.Now(),
		Say: func(line string) { said = append(said, line) },
	}
	choose(&opts)
	begun := rotate.Begun(s.dir)
	if begun { // it was interrupted a while ago
		then := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(s.dir, output.SecretsDir, packager.RotationFile), then, then); err != nil || output.IsRotating(s.dir) {
			s.t.Errorf("%v; it counts as being replaced", err)
		}
	}
	r, err := rotate.New(opts)
	if err == nil && !begun {
		err = r.Begin()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	err = r.Run(ctx)
	return said, err
}

// TestOnASwarmContainersAreReplacedOnceWhereverItIsInterrupted breaks off at each call that is
// made, and goes on.
func TestOnASwarmContainersAreReplacedOnceWhereverItIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tls    bool
		choose func(*rotate.Options)
		want   []string // what is replaced
		old    []string
	}{
		"passwords":    {false, func(o *rotate.Options) { o.Passwords = true }, []string{"toskose-manager", "backend", "frontend", "toskose-manager"}, []string{packager.ManagerPassword, "backend-password", packager.ManagerSecretKey}},
		"certificates": {true, func(o *rotate.Options) { o.Certificates = true }, []string{"toskose-manager", "backend", "frontend"}, []string{"backend-tls.crt", "toskose-manager-tls.key"}},
		"the authority": {
			true, func(o *rotate.Options) { o.Passwords, o.Authority = true, true },
			[]string{"toskose-manager", "backend", "frontend", "job", "toskose-manager"},
			[]string{packager.TLSAuthority, packager.TLSAuthorityFile, "frontend-tls.key", "frontend-password"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at, broken := 1, true; broken; at++ {
				s := onSwarm(t, tt.tls)
				was := map[string]string{}
				for _, name := range tt.old {
					was[name] = s.file(name)
				}
				_, err := s.rotate(tt.choose, at)
				if broken = err != nil; broken {
					if !rotate.Begun(s.dir) || !strings.Contains(err.Error(), " to resume") {
						t.Fatalf("broken off at call %d: %v", at, err)
					}
					if _, err = s.rotate(tt.choose, 0); err != nil {
						t.Fatalf("after it was broken off at call %d: %v", at, err)
					}
				}
				if !slices.Equal(s.updated, tt.want) || len(s.drained) > 0 || rotate.Begun(s.dir) {
					t.Fatalf("broken off at call %d: replaced were %q, and drained are %v", at, s.updated, s.drained)
				}
				s.hasWhatIsNew(was)
			}
		})
	}
}

// hasWhatIsNew checks that services mount what the folder has, which is not what was.
func (s *swarm) hasWhatIsNew(was map[string]string) {
	s.t.Helper()
	suffixes, err := output.Suffixes(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	for service, secrets := range s.mounted {
		for name, one := range secrets {
			if one.Suffix != suffixes[name] || one.Value != s.file(name) {
				s.t.Errorf("%s mounts another %s than the folder has", service, name)
			}
			if slices.Contains(s.tidied[name], one.Suffix) {
				s.t.Errorf("%s of %s is removed", name, service)
			}
		}
	}
	for name, text := range was {
		if s.file(name) == text {
			s.t.Errorf("%s is the one of before", name)
		}
		if name != packager.TLSAuthorityFile && len(s.tidied[name]) == 0 {
			s.t.Errorf("%s of before is left", name)
		}
	}
}

// TestOnASwarmItIsSaidWhatIsReplaced, before and after.
func TestOnASwarmItIsSaidWhatIsReplaced(t *testing.T) {
	t.Parallel()
	s := onSwarm(t, true)
	r, err := rotate.New(rotate.Options{Dir: s.dir, Nodes: units, Authority: true, Swarm: s, Random: rand.Reader, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := r.Plan(t.Context())
	if said := strings.Join(lines, "\n"); err != nil || !strings.Contains(said, "toskose-manager, backend, frontend, toskose-manager") ||
		!strings.Contains(said, "new containers of backend, frontend start empty") || !strings.Contains(said, "run again: job") {
		t.Errorf("%v, it says\n%s", err, said)
	}
	for goal, want := range map[bool]string{true: "by the goal: backends, frontends", false: "to be created again: backends, frontends; run `toskose up`"} {
		s := onSwarm(t, false)
		s.goal = goal
		said, err := s.rotate(func(o *rotate.Options) { o.Passwords = true }, 0)
		if text := strings.Join(said, "\n"); err != nil || !strings.Contains(text, want) {
			t.Errorf("%v, goal %t: it says\n%s", err, goal, text)
		}
	}
}

// TestASwarmThatDoesNotUpdateEndsTheRotation: which goes on later.
func TestASwarmThatDoesNotUpdateEndsTheRotation(t *testing.T) {
	t.Parallel()
	s := onSwarm(t, false)
	passwords := func(o *rotate.Options) { o.Passwords = true }
	failing := func(o *rotate.Options) {
		passwords(o)
		o.Swarm = refusing{s}
	}
	if _, err := s.rotate(failing, 0); err == nil || !strings.Contains(err.Error(), "frontend: rolled back") || !rotate.Begun(s.dir) {
		t.Errorf("error %v", err)
	}
	s.settles["backend"] = 1 << 20
	impatient := func(o *rotate.Options) {
		passwords(o)
		o.Timeout = 10 * time.Millisecond
	}
	if _, err := s.rotate(impatient, 0); err == nil || !strings.Contains(err.Error(), "not done after 10ms") {
		t.Errorf("error %v", err)
	}
	s.settles["backend"] = 0
	if _, err := s.rotate(passwords, 0); err != nil {
		t.Error(err)
	}
}

// refusing does not bring frontend up.
type refusing struct{ *swarm }

func (r refusing) Settled(ctx context.Context, service string) (string, error) {
	if service == "frontend" {
		return "", errors.New("rolled back")
	}
	return r.swarm.Settled(ctx, service)
}
