package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// operatorCommand runs `toskose operator` with its output in memory.
func operatorCommand(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), append([]string{"operator"}, args...), environment{in: strings.NewReader(""), out: &o, err: &e})
	return code, o.String(), e.String()
}

func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func TestTheOperatorsManifestsReplaceThoseOfOtherLevels(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "plant")
	for _, names := range []string{"factory:factories,asset", "robot"} {
		if code, _, errOut := operatorCommand(t, "--levels", names, "-o", dir); code != 0 {
			t.Fatal(errOut)
		}
	}
	var want []string
	for _, name := range []string{"application", "component", "robot"} {
		for _, file := range []string{"clusterrole", "clusterrolebinding", "crd", "deployment", "serviceaccount"} {
			want = append(want, name+"/"+file+".yaml")
		}
	}
	want = append(want, "kustomization.yaml", "namespaces.yaml")
	slices.Sort(want)
	if diff := cmp.Diff(want, filesBelow(t, dir)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMistakesInTheOperatorsOptionsChangeNothing(t *testing.T) {
	t.Parallel()
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args []string
		code int
		want string
	}{
		"levels":    {[]string{"--levels", "node,asset,asset"}, 2, "toskose: level \"node\": \"node\" is a name that Kubernetes has already\nlevel \"node\": \"nodes\" is a name that Kubernetes has already\nlevel \"asset\": \"asset\" is a name of level \"asset\" already\nlevel \"asset\": \"assets\" is a name of level \"asset\" already\nTry `toskose operator --help`.\n"},
		"namespace": {[]string{"--namespace", "Plant"}, 2, "toskose: namespace \"Plant\" is not a name for a namespace: small letters, digits and '-', at most 63\nTry `toskose operator --help`.\n"},
		"push":      {[]string{"-p"}, 2, "toskose: --enable-push needs --image, which names the registry\nTry `toskose operator --help`.\n"},
		"folder":    {[]string{"-o", foreign}, 1, "toskose: folder \"" + foreign + "\" has other files: name a new one with -o\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "plant")
			args := test.args
			if name != "folder" {
				args = append(args, "-o", dir)
			}
			if code, _, errOut := operatorCommand(t, args...); code != test.code || errOut != test.want {
				t.Errorf("exit code %d, error\n%s\nwant %d,\n%s", code, errOut, test.code, test.want)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("a folder was made")
			}
		})
	}
}
