package release_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// put writes files of a folder, with toskose's header where they have to have it.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func manifest(text string) string { return output.Header + text + "\n" }

func id(t *testing.T, dir string) string {
	t.Helper()
	id, err := release.ID(dir)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func text(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAReleaseIsItsManifestsAndNotItsSecrets(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		put(t, dir, map[string]string{"docker-compose.yml": manifest("a: 1"), "toskose.yml": manifest("{}"), "secrets/pw": dir, "notes": dir})
	}
	if id(t, a) != id(t, b) {
		t.Error("two folders with the same manifests are two releases")
	}
	seen := map[string]bool{id(t, a): true}
	for name, text := range map[string]string{"docker-compose.yml": manifest("a: 2"), "toskose.yml": manifest("a: {}"), "kubernetes/node-a.yaml": manifest("")} {
		put(t, b, map[string]string{name: text})
		if now := id(t, b); seen[now] {
			t.Errorf("with another %s it is the same release", name)
		}
		seen[id(t, b)] = true
	}
}

func record(id string, hour int) release.Record {
	return release.Record{Release: id, At: time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC), By: "ada@shop", Folder: "/srv/" + id}
}

func deployed(ids ...string) release.Log {
	var log release.Log
	for i, id := range ids {
		id, interrupted := strings.CutSuffix(id, "!")
		id, back := strings.CutPrefix(id, "back to ")
		r := record(id, i)
		if back {
			r.Kind = release.Rollback
		}
		if log = log.Begin(r); !interrupted {
			log = log.Complete()
		}
	}
	return log
}

func TestALogLeadsBackFromReleaseToRelease(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ deployed, before string }{
		{"", ""},
		{"a", ""},
		{"a,b", "a"},
		{"a,b,b", "a"}, // deployed again, it is no other release
		{"a,a", ""},
		{"a,b,c", "b"},
		{"a,b,c,back to b", "a"},
		{"a,b,c,back to b,back to a", ""},
		{"a,b,back to a,c", "a"},
		{"a,b,a", "b"}, // deployed by its folder, and not rolled back to
		{"a!", ""},
		{"a,b!", "a"}, // interrupted
		{"a,b!,b", "a"},
		{"a,b!,b!,b!", "a"},
		{"a,b,c!,d", "b"}, // c has never run
		{"a,b,c,back to b!", "b"},
		{"a,b,c,back to b!,back to b", "a"},
		{"a,b,c!,back to b", "a"},
		{"a,b,c,back to b!,c", "b"},
		{"a,b,b!", "a"},
	} {
		log := deployed(strings.FieldsFunc(tt.deployed, func(r rune) bool { return r == ',' })...)
		if before, ok := log.Before(); before.Release != tt.before || ok != (tt.before != "") {
			t.Errorf("%s: before it is %q, want %q", tt.deployed, before.Release, tt.before)
		}
	}
}

func TestALogIsBoundedAndComesBackFromALabel(t *testing.T) {
	t.Parallel()
	var ids []string
	for i := range 30 {
		ids = append(ids, fmt.Sprint("r", i))
	}
	log := deployed(ids...)
	if len(log) != 10 || log[9].Release != "r29" {
		t.Errorf("%d records, %+v", len(log), log)
	}
	if diff := cmp.Diff(log, release.Decode(log.Encode())); diff != "" {
		t.Error(diff)
	}
	if n := len(log.Encode()); n > 2000 {
		t.Errorf("the label has %d bytes", n)
	}
	for _, text := range []string{"", "x", "{}", `{"a": 1}`} {
		if log := release.Decode(text); len(log) != 0 {
			t.Errorf("%q is %+v", text, log)
		}
	}
}

// TestTheNewestLogDependsOnNoClock: two deployments may begin in the same second, or on machines whose
// clocks differ.
func TestTheNewestLogDependsOnNoClock(t *testing.T) {
	t.Parallel()
	a, begun, b := deployed("a"), deployed("a", "b!"), deployed("a", "b")
	for what, at := range map[string]time.Time{"in the same second": a[0].At, "by a clock that is behind": a[0].At.Add(-time.Hour)} {
		begun[1].At, b[1].At = at, at
		for _, tt := range []struct {
			want release.Log
			of   []release.Log
		}{
			{begun, []release.Log{a, begun, nil}},
			{begun, []release.Log{begun, a}},
			{b, []release.Log{b, begun, a}},
			{b, []release.Log{a, begun, b}},
		} {
			if diff := cmp.Diff(tt.want, release.Newest(tt.of...)); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
		}
	}
}

// kept is a folder that was deployed and packaged again.
func kept(t *testing.T) (release.Record, string) {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"docker-compose.yml": manifest("secrets: {kept: {name: shop_kept_1}}"), "kubernetes/old.yaml": manifest(""), "toskose.yml": manifest("{}"), "notes": "mine",
		"secrets/kept": "first", "secrets/gone": "secret", "secrets/names.json": `{"kept": {"suffix": "1"}, "gone": {"suffix": "2"}}`,
	})
	was := id(t, dir)
	if err := release.Keep(dir, was); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubernetes/old.yaml", "secrets/gone"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir, map[string]string{
		"docker-compose.yml": manifest("secrets: {kept: {name: shop_kept_3}}"), "docker-compose.local.yml": manifest(""),
		"secrets/kept": "another", "secrets/names.json": `{"kept": {"suffix": "3"}}`,
	})
	return release.Record{Release: was, Folder: dir, By: "ada@shop"}, dir
}

func TestAFolderThatWasPackagedAgainHoldsAReleaseOfBeforeAgain(t *testing.T) {
	t.Parallel()
	r, dir := kept(t)
	newer := release.Record{Release: id(t, dir), Folder: dir}
	if err := release.Keep(dir, newer.Release); err != nil {
		t.Fatal(err)
	}
	back, err := release.Return(r)
	if err != nil || back != dir || id(t, dir) != r.Release {
		t.Fatalf("%q is %s, %v; want %s", back, id(t, dir), err, r.Release)
	}
	for name, want := range map[string]string{"notes": "mine", "secrets/kept": "another", "secrets/gone": "secret", "docker-compose.yml": manifest("secrets: {kept: {name: shop_kept_3}}")} {
		if got := text(t, dir, name); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	names := strings.Join(strings.Fields(text(t, dir, "secrets/names.json")), "")
	if want := regexp.MustCompile(`^\{"gone":\{"suffix":"2"[^}]*\},"kept":\{"suffix":"3",[^}]*"first":"1"\}\}$`); !want.MatchString(names) {
		t.Errorf("the names are %s, want %s", names, want)
	}
	for _, name := range []string{release.KeptDir, filepath.Join(release.KeptDir, r.Release, "secrets")} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if _, err := release.Return(newer); err != nil || id(t, dir) != newer.Release || text(t, dir, "docker-compose.yml") != manifest("secrets: {kept: {name: shop_kept_3}}") {
		t.Errorf("and then %s, %v; want %s", id(t, dir), err, newer.Release)
	}
}

func TestAReleaseIsFoundInItsFolderOrIsNamed(t *testing.T) {
	t.Parallel()
	r, dir := kept(t)
	if at, err := release.Find(r); err != nil || at != filepath.Join(dir, release.KeptDir, r.Release) {
		t.Errorf("%q, %v", at, err)
	}
	now := release.Record{Release: id(t, dir), Folder: dir}
	if at, err := release.Find(now); err != nil || at != dir {
		t.Errorf("%q, %v", at, err)
	}
	put(t, dir, map[string]string{filepath.Join(release.KeptDir, r.Release, "docker-compose.yml"): manifest("changed: 1")})
	if _, err := release.Return(r); err == nil || !strings.Contains(err.Error(), "release "+r.Release) || !strings.Contains(err.Error(), "holds release "+now.Release+" now") {
		t.Errorf("error %v", err)
	}
	r.Folder = filepath.Join(dir, "nowhere")
	if _, err := release.Return(r); err == nil || !strings.Contains(err.Error(), "release "+r.Release) {
		t.Errorf("error %v", err)
	}
	r.Folder = t.TempDir() // somebody has emptied it
	if _, err := release.Find(r); err == nil || !strings.Contains(err.Error(), "has no manifests") {
		t.Errorf("error %v", err)
	}
	if id(t, dir) != now.Release {
		t.Error("what cannot be found changes the folder")
	}
}

func TestTheGoalIsKeptWithARelease(t *testing.T) {
	t.Parallel()
	r, dir := kept(t)
	if goal := release.Goal(r); goal != nil {
		t.Errorf("%s", goal)
	}
	for _, goal := range []string{"up", "down", ""} {
		var keep []byte
		if goal != "" {
			keep = []byte(goal)
		}
		if err := release.KeepGoal(r, keep); err != nil {
			t.Fatal(err)
		}
		if got := release.Goal(r); string(got) != goal {
			t.Errorf("it keeps %q, want %q", got, goal)
		}
	}
	if at, err := release.Find(r); err != nil {
		t.Errorf("with a goal, %q is another release: %v", at, err)
	}
	if err := release.KeepGoal(release.Record{Release: "other", Folder: dir}, []byte("up")); err != nil || release.Goal(release.Record{Release: "other", Folder: dir}) != nil {
		t.Errorf("a release without a copy: %v", err)
	}
}

func TestCopiesThatNoLogNamesGo(t *testing.T) {
	t.Parallel()
	r, dir := kept(t)
	if err := release.Keep(dir, "gone"); err != nil {
		t.Fatal(err)
	}
	if err := release.WriteLog(dir, "engine", release.Log{r}); err != nil {
		t.Fatal(err)
	}
	if err := release.Forget(dir, release.Log{r}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, release.KeptDir, "gone")); err == nil {
		t.Error("the copy is there")
	}
	if _, err := release.Find(r); err != nil {
		t.Error(err)
	}
}

func TestEachEngineHasALogOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := deployed("a"), deployed("a", "b")
	for engine, log := range map[string]release.Log{"one": one, "two": two} {
		if err := release.WriteLog(dir, engine, log); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]release.Log{one, two, nil}, []release.Log{release.ReadLog(dir, "one"), release.ReadLog(dir, "two"), release.ReadLog(dir, "three")}); diff != "" {
		t.Error(diff)
	}
	if err := release.WriteLog(dir, "two", nil); err != nil {
		t.Fatal(err)
	}
	if log := release.ReadLog(dir, "two"); log != nil {
		t.Errorf("%+v", log)
	}
	if diff := cmp.Diff(one, release.ReadLog(dir, "one")); diff != "" {
		t.Error(diff)
	}
}
