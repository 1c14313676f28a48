package compose_test

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/output"
)

var (
	defaults = compose.Options{EndpointMode: compose.EndpointVIP, PublishMode: compose.PublishIngress}
	ours     = compose.Options{EndpointMode: compose.EndpointDNSRR, PublishMode: compose.PublishHost}
)

// counting is a random source that tests can foresee.
type countingReader struct{ next byte }

func (c *countingReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = c.next
		c.next++
	}
	return len(p), nil
}

func plan(t *testing.T, cfg config.Config) *packager.Plan {
	t.Helper()
	p, err := packager.New(sample.App(), sample.Archive(), cfg, packager.Options{AllowHost: sample.Host, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// packaged writes an output folder for Compose.
func packaged(dir string, plan *packager.Plan, opts compose.Options, random io.Reader) error {
	return output.Write(dir, plan, output.Options{Targets: []output.Target{compose.Target(opts)}, Random: random})
}

func write(t *testing.T, dir string, cfg config.Config, random io.Reader) {
	t.Helper()
	if err := packaged(dir, plan(t, cfg), defaults, random); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTheManifestsAreAsTheyWere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	if err := packaged(dir, plan(t, config.Config{}), ours, &countingReader{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{compose.SwarmFile, compose.LocalFile, output.ConfigFile, "secrets/names.json", "secrets/netrc"} {
		sample.Golden(t, strings.ReplaceAll(name, "/", "-"), []byte(read(t, dir, name)))
	}
}

// everything is a plan that uses every word that there is.
func everything(t *testing.T) *packager.Plan {
	t.Helper()
	app, cfg := sample.Everything()
	p, err := packager.New(app, sample.Archive(), cfg, packager.Options{AllowHost: sample.Host, Version: "1.2.3", TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryWordArrives(t *testing.T) {
	t.Parallel()
	for name, external := range map[string]bool{"everything": false, "external": true} {
		dir := t.TempDir()
		opts := defaults
		opts.Encrypted = true
		write := output.Options{Targets: []output.Target{compose.Target(opts)}, External: external, Random: &countingReader{}, Now: time.Now()}
		if err := output.Write(dir, everything(t), write); err != nil {
			t.Fatal(err)
		}
		stacked(t, dir)
		for _, file := range []string{compose.SwarmFile, compose.LocalFile, output.ConfigFile} {
			text := read(t, dir, file)
			if strings.Contains(text, "hush") {
				t.Errorf("%s holds a secret", file)
			}
			if !external || file == compose.SwarmFile {
				sample.Golden(t, filepath.Join(name, file), []byte(text))
			}
		}
	}
}

func TestSecretsAreStrongAndProtectedByTheirFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, config.Config{}, &countingReader{})
	secrets := filepath.Join(dir, "secrets")
	if info, err := os.Stat(secrets); err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	seen := map[string]bool{}
	for _, name := range []string{"backend-password", "frontend-password", "manager-password", "manager-secret-key"} {
		value := read(t, secrets, name)
		if len(value) < 32 || seen[value] { // base32: 5 bits each, 160 bits
			t.Errorf("%s is %q", name, value)
		}
		seen[value] = true
		if info, err := os.Stat(filepath.Join(secrets, name)); err != nil || info.Mode() != 0o644 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		for _, file := range []string{compose.SwarmFile, compose.LocalFile, output.ConfigFile} {
			if strings.Contains(read(t, dir, file), value) {
				t.Errorf("%s holds %s", file, name)
			}
		}
	}
}

func TestASecretIsReusedUntilItsValueChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	random := &countingReader{}
	write(t, dir, config.Config{}, random)
	first, password := read(t, dir, compose.SwarmFile), read(t, dir, "secrets", "manager-password")

	write(t, dir, config.Config{}, random)
	if again := read(t, dir, compose.SwarmFile); again != first {
		t.Error("the second run changed the manifest")
	}

	write(t, dir, config.Config{Manager: config.Manager{Password: "chosen"}}, random)
	changed := read(t, dir, compose.SwarmFile)
	if read(t, dir, "secrets", "manager-password") != "chosen" || nameOf(t, changed, "manager-password") == nameOf(t, first, "manager-password") {
		t.Error("a given password must be used, under a new name")
	}
	if nameOf(t, changed, "backend-password") != nameOf(t, first, "backend-password") {
		t.Error("a secret that stays must keep its name")
	}

	write(t, dir, config.Config{}, random)
	if read(t, dir, compose.SwarmFile) != changed {
		t.Error("a password that is given no more must stay as it is")
	}

	if err := os.WriteFile(filepath.Join(dir, "secrets", "manager-password"), []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, dir, config.Config{}, random)
	if read(t, dir, "secrets", "manager-password") != password || read(t, dir, compose.SwarmFile) == changed {
		t.Error("a password that was edited must be used, under a new name")
	}
}

func nameOf(t *testing.T, manifest, secret string) string {
	t.Helper()
	_, rest, ok := strings.Cut(manifest, "name: my-shop_"+secret+"_")
	if !ok {
		t.Fatalf("no secret %s", secret)
	}
	name, _, _ := strings.Cut(rest, "\n")
	return name
}

func TestRoundRobinWithIngressIsRefusedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	err := packaged(dir, plan(t, config.Config{}), compose.Options{EndpointMode: "dnsrr", PublishMode: "ingress"}, &countingReader{})
	if err == nil || !strings.Contains(err.Error(), "--publish-mode host") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made")
	}
	for _, bad := range []compose.Options{{EndpointMode: "x", PublishMode: "host"}, {EndpointMode: "vip", PublishMode: "x"}} {
		if err := bad.Validate(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestAFailureLeavesWhatWasThere(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "a", "b")
	if err := packaged(dir, plan(t, config.Config{}), defaults, iotest.ErrReader(io.ErrUnexpectedEOF)); err == nil {
		t.Error("no random bytes, but no error")
	}
	if err := os.WriteFile(filepath.Join(parent, "secrets"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := packaged(parent, plan(t, config.Config{}), defaults, &countingReader{}); err == nil {
		t.Error("secrets is a file, but no error")
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestWhatTheUserWroteIsNotOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := output.Check(filepath.Join(dir, "none"), ""); err != nil {
		t.Error(err)
	}
	write(t, dir, config.Config{}, &countingReader{})
	if err := output.Check(dir, ""); err != nil {
		t.Errorf("what toskose wrote is its own: %v", err)
	}
	generated := filepath.Join(dir, output.ConfigFile)
	if err := output.Check(dir, generated); err == nil || !strings.Contains(err.Error(), "is the given configuration") {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(generated, []byte("title: mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := output.Check(dir, ""); err == nil || !strings.Contains(err.Error(), "that toskose did not write") {
		t.Errorf("error %v", err)
	}
}

func TestAFolderSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := compose.ReadInfo(dir); err == nil {
		t.Error("an empty folder is taken")
	}
	write(t, dir, config.Config{}, &countingReader{})
	info, err := compose.ReadInfo(dir)
	if err != nil || info.App != "my-shop" || info.Manager.Port != 10000 || strings.Join(info.Nodes, " ") != "backend frontend" {
		t.Errorf("%+v, %v", info, err)
	}
	password, err := output.ManagerPassword(dir)
	if err != nil || info.Manager.User != "admin" || password != read(t, dir, "secrets", "manager-password") {
		t.Errorf("%q %q %v", info.Manager.User, password, err)
	}
}

func TestTheSameCredentialsGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	var first []byte
	for range 5 {
		got, err := compose.Swarm(plan(t, config.Config{}), defaults, output.Secrets{Suffixes: map[string]string{"backend-password": "x"}})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		if !bytes.Equal(first, got) {
			t.Fatal("differs")
		}
	}
}
