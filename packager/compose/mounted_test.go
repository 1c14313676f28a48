package compose

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/toskose/toskose/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// folder is one that was packaged, with secrets.
func folder(t *testing.T, secrets map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	text := "version: \"3.7\"\nsecrets:\n  bought:\n    external: true\n    name: bought\n"
	for name, value := range secrets {
		text += "  " + name + ":\n    name: shop_" + name + "_a1b2c3d4\n    file: ./secrets/" + name + "\n"
		write(t, filepath.Join(dir, "secrets", name), value)
	}
	write(t, filepath.Join(dir, LocalFile), text)
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

// holds checks what a copy has, and returns its inode.
func holds(t *testing.T, s MountedSecrets, name, want string) uint64 {
	t.Helper()
	data, err := os.ReadFile(s.file(name))
	if err != nil || string(data) != want {
		t.Fatalf("%s is %q, want %q: %v", name, data, want, err)
	}
	info, err := os.Stat(s.file(name))
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

func TestContainersMountTheSameFilesWhicheverFolderIsDeployed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := MountedSecretsOf(root, "ABCD:EFGH", "shop")
	first, second := folder(t, map[string]string{"web": "first", "db": "the same"}), folder(t, map[string]string{"web": "2nd", "db": "the same", "new": "n"})

	file, err := s.Update(first, false)
	if err != nil {
		t.Fatal(err)
	}
	web, db := holds(t, s, "web", "first"), holds(t, s, "db", "the same")
	if info, err := os.Stat(s.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the copies is %v, %v", info.Mode(), err)
	}
	again, err := s.Update(second, false)
	if err != nil || again != file {
		t.Errorf("the second folder has the file %q, and the first %q: %v", again, file, err)
	}
	if holds(t, s, "web", "2nd") != web || holds(t, s, "db", "the same") != db {
		t.Error("a file is another one, which containers that run do not see")
	}
	if all, err := secretFiles(second); err != nil || len(all) != 3 {
		t.Errorf("the folder's files are %v, %v", all, err)
	}

	write(t, filepath.Join(first, "secrets", "web"), "third")
	if err := RefreshMounted(root, "shop", first); err != nil || holds(t, s, "web", "2nd") != web {
		t.Errorf("what another folder holds is mounted: %v", err)
	}
	if _, err := s.Update(first, false); err != nil || holds(t, s, "web", "third") != web {
		t.Error(err)
	}
	write(t, filepath.Join(first, "secrets", "web"), "4")
	if err := RefreshMounted(root, "shop", first); err != nil || holds(t, s, "web", "4") != web {
		t.Errorf("what the folder holds by now is not mounted: %v", err)
	}
	if err := s.RemoveUnused(second); err != nil || holds(t, s, "new", "n") == 0 {
		t.Error(err)
	}
	if err := s.RemoveUnused(first); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.file("new")); !os.IsNotExist(err) {
		t.Errorf("a secret that no container has any more is left: %v", err)
	}
	if err := s.Remove(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("%v is left: %v", left, err)
	}
}

func TestWithoutCopiesThereIsNothingToFollow(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := MountedSecretsOf(root, "engine", "shop")
	for _, root := range []string{root, "/nowhere"} {
		if err := RefreshMounted(root, "shop", "/somewhere"); err != nil {
			t.Error(err)
		}
	}
	if err := s.Follow("/nowhere"); err != nil {
		t.Error(err)
	}
	if err := s.RemoveUnused("/nowhere"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("it was made: %v", err)
	}
}

func TestWhoeverIsAskedSeesAFileOfThatPlaceWhichIsGoneThen(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := MountedSecretsOf(root, "engine", "shop")
	for _, answer := range []bool{true, false} {
		there := false
		if got := s.VisibleTo(func(path string) bool {
			_, err := os.Stat(path)
			there = err == nil
			return answer
		}); got != answer || !there {
			t.Errorf("the answer is %v, want %v; the file was there: %v", got, answer, there)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("%v is left: %v", left, err)
	}
}

func TestADollarInAPathIsNoVariableOfCompose(t *testing.T) {
	t.Parallel()
	data, err := withSecretFiles(map[string]string{"web": "/home/a$b: c/web"})
	const want = "version: \"3.7\"\nsecrets:\n    web:\n        file: \"/home/a$$b: c/web\"\n"
	if err != nil || string(data) != want {
		t.Errorf("it is\n%s\nwant\n%s\n%v", data, want, err)
	}
}

func TestAFolderWithOtherSecretsThanAreMountedIsTold(t *testing.T) {
	t.Parallel()
	s := MountedSecretsOf(t.TempDir(), "engine", "shop")
	first, second := folder(t, map[string]string{"web": "first", "db": "the same"}), folder(t, map[string]string{"web": "2nd", "db": "the same", "new": "n"})
	if names, ok, err := s.Differing(first); ok || names != nil || err != nil {
		t.Errorf("without copies: %v, %v, %v", names, ok, err)
	}
	if _, err := s.Update(first, false); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(first); err != nil { // they run on
		t.Fatal(err)
	}
	if names, ok, err := s.Differing(second); !ok || !slices.Equal(names, []string{"web"}) || err != nil {
		t.Errorf("%v, %v, %v", names, ok, err)
	}
}

// A secret that two users read is two files: each belongs to one of them.
func TestACopyThatOneUserReadsBelongsToThatUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secrets", "web"), "first")
	write(t, filepath.Join(dir, LocalFile), `version: "3.7"
secrets:
  web: {name: web, file: ./secrets/web}
  web.0: {name: web, file: ./secrets/web, x-toskose-user: "0"}
  web.65532: {name: web, file: ./secrets/web, x-toskose-user: "65532"}
`)
	s := MountedSecretsOf(t.TempDir(), "engine", "shop")
	check := func(text string, owned bool) {
		t.Helper()
		for name, uid := range map[string]uint32{"web": 0, "web.0": 0, "web.65532": 65532} {
			holds(t, s, name, text)
			info, err := os.Stat(s.file(name))
			if err != nil {
				t.Fatal(err)
			}
			mode := os.FileMode(0o400)
			if name == "web" || !owned {
				mode, uid = 0o640, 0
			}
			if has := info.Sys().(*syscall.Stat_t).Uid; has != uid || info.Mode() != mode {
				t.Errorf("%s is %v of %d, want %v of %d", name, info.Mode(), has, mode, uid)
			}
		}
	}
	if _, err := s.Update(dir, false); err != nil {
		t.Fatal(err)
	}
	check("first", false)
	if _, err := s.Update(dir, true); err != nil {
		t.Fatal(err)
	}
	check("first", true)
	write(t, filepath.Join(dir, "secrets", "web"), "second")
	if names, _, err := s.Differing(dir); err != nil || !slices.Equal(names, []string{"web"}) {
		t.Errorf("the secrets that differ are %q, %v", names, err)
	}
	if err := s.Follow(dir); err != nil {
		t.Fatal(err)
	}
	check("second", true)
}

// TestTheFileOfAKilledCommandIsRemoved by the next one that asks.
func TestTheFileOfAKilledCommandIsRemoved(t *testing.T) {
	t.Parallel()
	s := MountedSecretsOf(t.TempDir(), "engine", "shop")
	write(t, filepath.Join(s.dir, ".seen.123"), "")
	if !s.VisibleTo(func(string) bool { return true }) {
		t.Error("it is not seen")
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}
