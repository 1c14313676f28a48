package folder_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/edge/folder"
	"github.com/toskose/toskose/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// site is a cluster in a folder, with the identities of its machines.
type site struct {
	dir        string
	identities map[string]*age.X25519Identity
}

// newSite creates a cluster of three servers and an agent.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{dir: filepath.Join(t.TempDir(), "factory-7"), identities: map[string]*age.X25519Identity{}}
	o := edge.CreateOptions{Name: "factory-7", Interface: "eth1", Random: rand.Reader, Agents: []edge.Machine{s.machine(t, "edge-x")}}
	for _, name := range []string{"edge-a", "edge-b", "edge-c"} {
		o.Servers = append(o.Servers, s.machine(t, name))
	}
	d, err := edge.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Create(s.dir, d, rand.Reader); err != nil {
		t.Fatal(err)
	}
	return s
}

// machine makes a machine with a key of its own.
func (s *site) machine(t *testing.T, name string) edge.Machine {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	s.identities[name] = id
	return edge.Machine{Name: name, Key: id.Recipient().String()}
}

func (s *site) open(t *testing.T) *folder.Folder {
	t.Helper()
	f, err := folder.Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// change changes the cluster.
func (s *site) change(t *testing.T, how func(edge.Document) (edge.Change, error)) folder.Result {
	t.Helper()
	f := s.open(t)
	defer f.Close()
	c, err := how(f.Document)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Apply(c, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *site) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (s *site) node(t *testing.T, name string) edge.NodeFile {
	t.Helper()
	f, err := edge.ParseNodeFile([]byte(s.read(t, "nodes/"+name+".json")))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// decrypted returns the token in a machine's file, read with the key of another or the same machine.
func (s *site) decrypted(t *testing.T, name, by string) (string, error) {
	t.Helper()
	r, err := age.Decrypt(armor.NewReader(strings.NewReader(s.node(t, name).Cluster.EncryptedToken)), s.identities[by])
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(r)
	return string(data), err
}

// files returns the names and modes of all files.
func (s *site) files(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		name, _ := filepath.Rel(s.dir, path)
		all = append(all, fmt.Sprintf("%s %v", filepath.ToSlash(name), info.Mode().Perm()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestANewFolderHasAFileForEachMachineAndASecretToken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	want := []string{
		". -rwxr-xr-x", ".gitignore -rw-r--r--", "cluster.yaml -rw-r--r--",
		"nodes -rwxr-xr-x", "nodes/edge-a.json -rw-r--r--", "nodes/edge-b.json -rw-r--r--", "nodes/edge-c.json -rw-r--r--", "nodes/edge-x.json -rw-r--r--",
		"secrets -rwx------", "secrets/sealed.json -rw-------", "secrets/token -rw-------",
	}
	if diff := cmp.Diff(want, s.files(t)); diff != "" {
		t.Error(diff)
	}
	token := strings.TrimSpace(s.read(t, "secrets/token"))
	if len(token) != 64 {
		t.Errorf("the token has %d characters", len(token))
	}
	if !slices.Contains(strings.Split(s.read(t, ".gitignore"), "\n"), "/secrets/") {
		t.Errorf("git does not ignore the secrets:\n%s", s.read(t, ".gitignore"))
	}
}

func TestOnlyItsOwnKeyDecryptsTheTokenOfAMachine(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := strings.TrimSpace(s.read(t, "secrets/token"))
	for name := range s.identities {
		for by := range s.identities {
			got, err := s.decrypted(t, name, by)
			if (name == by) != (err == nil) || err == nil && got != token {
				t.Errorf("%s's key decrypts the token of %s: %v, %v", by, name, err == nil, err)
			}
		}
		if !strings.HasPrefix(s.node(t, name).Cluster.EncryptedToken, "-----BEGIN AGE ENCRYPTED FILE-----\n") {
			t.Errorf("the token of %s is not in age's armor", name)
		}
	}
}

func TestAnExistingFolderIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	d, err := folder.Read(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Create(s.dir, d, rand.Reader); err == nil || !strings.Contains(err.Error(), "exists: name another folder by --dir") {
		t.Errorf("error %v", err)
	}
	if err := folder.Create(filepath.Join(s.dir, "no", "such"), d, rand.Reader); err == nil || !strings.Contains(err.Error(), "cannot make the folder") {
		t.Errorf("error %v", err)
	}
	if err := folder.Create(filepath.Join(t.TempDir(), "x"), d, strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "cannot draw a token") {
		t.Errorf("error %v", err)
	}
	if _, err := folder.Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "is not the folder of a cluster") {
		t.Errorf("error %v", err)
	}
}

func TestOnlyOneCommandChangesAFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.open(t)
	if _, err := folder.Open(s.dir); !errors.Is(err, folder.ErrLocked) {
		t.Errorf("error %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	s.open(t)
}

func label(name, value string) func(edge.Document) (edge.Change, error) {
	return func(d edge.Document) (edge.Change, error) {
		return edge.Label(d, name, map[string]string{"GPU": value}, nil)
	}
}

func TestAnUnchangedTokenIsNotEncryptedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	before := s.node(t, "edge-b").Cluster.EncryptedToken
	r := s.change(t, label("edge-b", "2"))
	if after := s.node(t, "edge-b"); after.Cluster.EncryptedToken != before || after.Labels["GPU"] != "2" || after.Revision != 2 {
		t.Errorf("%+v", after)
	}
	if r.Drawn || len(r.Removed) > 0 || !slices.Contains(r.Written, "nodes/edge-b.json") || slices.Contains(r.Written, "secrets/token") {
		t.Errorf("%+v", r)
	}
}

func TestARemovedMachineDoesNotKnowTheNewToken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	before := s.read(t, "secrets/token")
	preview := s.open(t)
	c, err := edge.Remove(preview.Document, "edge-c", false)
	if err != nil {
		t.Fatal(err)
	}
	unchanged := s.files(t)
	p, err := preview.Preview(c, rand.Reader)
	if err != nil || !p.Drawn || !slices.Equal(p.Removed, []string{"nodes/edge-c.json"}) || !slices.Equal(s.files(t), unchanged) {
		t.Errorf("the preview is %+v, %v", p, err)
	}
	preview.Close()
	r := s.change(t, func(d edge.Document) (edge.Change, error) { return edge.Remove(d, "edge-c", false) })
	if diff := cmp.Diff(p, r); diff != "" {
		t.Errorf("another result than the preview's: %s", diff)
	}
	if after := s.read(t, "secrets/token"); after == before {
		t.Error("the token is the same")
	}
	if _, err := os.Stat(filepath.Join(s.dir, "nodes/edge-c.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of the removed machine: %v", err)
	}
	if got, err := s.decrypted(t, "edge-b", "edge-b"); err != nil || got != strings.TrimSpace(s.read(t, "secrets/token")) {
		t.Errorf("%q, %v", got, err)
	}
	kept := s.read(t, "secrets/token")
	s.change(t, func(d edge.Document) (edge.Change, error) { return edge.Remove(d, "edge-x", true) })
	if s.read(t, "secrets/token") != kept {
		t.Error("the token was to be kept")
	}
}

func TestALostTokenIsReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if err := os.RemoveAll(filepath.Join(s.dir, "secrets")); err != nil {
		t.Fatal(err)
	}
	if f := s.open(t); !f.TokenIsLost || f.Close() != nil {
		t.Error("the loss was not noticed")
	}
	if r := s.change(t, label("edge-b", "2")); !r.Drawn {
		t.Errorf("%+v", r)
	}
	if got, err := s.decrypted(t, "edge-a", "edge-a"); err != nil || got != strings.TrimSpace(s.read(t, "secrets/token")) {
		t.Errorf("%q, %v", got, err)
	}
	if all := s.files(t); !slices.Contains(all, "secrets -rwx------") || !slices.Contains(all, "secrets/token -rw-------") {
		t.Errorf("%q", all)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "secrets/token"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Open(s.dir); err == nil || !strings.Contains(err.Error(), "is not a token of 32 bytes") {
		t.Errorf("error %v", err)
	}
}

func TestTheDigestOfTheAuthorityIsEncryptedWithTheToken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	digest := strings.Repeat("0f", 32)
	s.change(t, func(d edge.Document) (edge.Change, error) { return edge.Trust(d, digest) })
	got, err := s.decrypted(t, "edge-b", "edge-b")
	if want := "K10" + digest + "::server:" + strings.TrimSpace(s.read(t, "secrets/token")); err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNetworksHaveDefinitions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	with := strings.Replace(s.read(t, "cluster.yaml"), "nodes:", "networks: [{name: cameras, prefix: different, base: 10.1.10.0/24}]\nnodes:", 1)
	if err := os.WriteFile(filepath.Join(s.dir, "cluster.yaml"), []byte(with), 0o600); err != nil {
		t.Fatal(err)
	}
	s.change(t, func(d edge.Document) (edge.Change, error) { return edge.Attach(d, "cameras", "thinking", "") })
	if text := s.read(t, "networks/cameras.yaml"); !strings.Contains(text, "kind: NetworkAttachmentDefinition") {
		t.Errorf("%s", text)
	}
	if n := s.node(t, "edge-c").Networks; len(n) != 1 || n[0].Prefix != "10.1.12.0/24" {
		t.Errorf("%+v", n)
	}
	s.change(t, func(d edge.Document) (edge.Change, error) {
		d.Networks = nil
		return edge.Refresh(d)
	})
	if _, err := os.Stat(filepath.Join(s.dir, "networks/cameras.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the definition of a removed network: %v", err)
	}
}
