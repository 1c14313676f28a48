package e2e

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const thinkings = "tosca_definitions_version: tosca_simple_yaml_1_0\ntopology_template: {node_templates: {}}\n"

func TestABadArchiveIsRefusedInOneLineAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files [][2]string // none: no zip
		want  string
	}{
		"no zip":                   {want: "zip"},
		"no entry":                 {files: [][2]string{{"readme.txt", "hello"}}, want: "entry"},
		"an entry above":           {files: [][2]string{{"TOSCA-Metadata/TOSCA.meta", "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: x\nEntry-Definitions: ../x.yaml\n"}, {"x.yaml", thinkings}}, want: ".."},
		"a file above":             {files: [][2]string{{"x.yaml", thinkings}, {"../../escaped.sh", "#!/bin/sh\n"}}, want: ".."},
		"an entry that is missing": {files: [][2]string{{"TOSCA-Metadata/TOSCA.meta", "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: x\nEntry-Definitions: x.yaml\n"}}, want: "x.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "bad.csar")
			writeArchive(t, path, c.files)
			r := command(t, dir, "toskose", "bad.csar")
			if r.code != 1 || r.stdout != "" {
				t.Errorf("not refused: %v", r)
			}
			line := strings.TrimSuffix(r.stderr, "\n")
			if line == "" || strings.Contains(line, "\n") || !strings.Contains(line, "bad.csar") || !strings.Contains(line, c.want) {
				t.Errorf("that is not one clear line with %q in it: %v", c.want, r)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				t.Errorf("something was written: %v, %v", left, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "..", "..", "escaped.sh")); err == nil {
				t.Error("the archive climbed out of itself")
			}
		})
	}
}

func writeArchive(t *testing.T, path string, files [][2]string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if files == nil {
		if _, err := file.WriteString("this is no zip"); err != nil {
			t.Fatal(err)
		}
		return
	}
	archive := zip.NewWriter(file)
	for _, f := range files {
		w, err := archive.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestModesThatDoNotGoTogetherAreRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := command(t, dir, "toskose", "--endpoint-mode", "dnsrr", "nowhere.csar")
	if r.code != 2 || !strings.Contains(r.stderr, "--publish-mode host") {
		t.Errorf("not refused with a way out: %v", r)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("something was written: %v", left)
	}
}
