package dockerfile

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTheParentsOfADockerfileAreToldWithoutBuilding(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"FROM alpine:3.20\nRUN true\n":                                              {"alpine:3.20"},
		"# FROM none\nfrom reg.example:5000/a/b@sha256:00 as build\nFROM build\n":   {"reg.example:5000/a/b@sha256:00"},
		"FROM --platform=linux/arm64 a AS b\nFROM scratch\nCOPY --from=b /x /x":     {"a"},
		"FROM a\nCOPY --chown=1 --from=tools:1 /x /x\nCOPY --from=0 /y /y\n":        {"a", "tools:1"},
		"ARG TAG=1\nARG BASE='alpine'\nFROM ${BASE}:$TAG\nARG TAG=2\nFROM a:${TAG}": {"alpine:1", "a:1"},
		"FROM a:${TAG:-latest}\nFROM ${TAG:+never}\nFROM $UNKNOWN\nFROM":            {"a:latest"},
		"FROM \\\n# a comment between\n  a \\\n  AS one\nFROM one\nFROM A\n":        {"a", "A"},
		"# escape=`\nFROM `\n  a\nRUN c:\\dir\\\nFROM b\n":                          {"a", "b"},
		"FROM a\nFROM a\n": {"a"},
		"":                 nil,
	} {
		if got := parents(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

var archive = fstest.MapFS{
	"app.yaml":                {Data: []byte("never in a context below\n")},
	"web/Dockerfile.prod":     {Data: []byte("FROM base\nCOPY . /srv\n")},
	"web/.dockerignore":       {Data: []byte("# not these\n*.log\ntmp\nDockerfile*\n!keep.log\n")},
	"web/a.log":               {Data: []byte("a")},
	"web/keep.log":            {Data: []byte("kept")},
	"web/tmp/x":               {Data: []byte("x")},
	"web/site/index.html":     {Data: []byte("<p>"), Mode: 0o600},
	"web/site/run":            {Data: []byte("#!/bin/sh\n")},
	"web/site/tool":           {Data: []byte("echo"), Mode: 0o755},
	"broken/Dockerfile":       {Data: []byte("FROM base\n")},
	"broken/.dockerignore":    {Data: []byte("[\n")},
	"linked/Dockerfile":       {Data: []byte("FROM base\n")},
	"linked/elsewhere":        {Data: []byte("/etc"), Mode: fs.ModeSymlink},
	"empty/Dockerfile":        {Data: []byte("FROM base\n")},
	"empty/sub/.dockerignore": {Data: []byte("*\n")},
}

func TestAContextIsTheDockerfilesFolderWithoutWhatIsIgnored(t *testing.T) {
	t.Parallel()
	want := map[string]int64{
		".dockerignore": 0o644, "Dockerfile.prod": 0o644, "keep.log": 0o644, "site": 0o755,
		"site/index.html": 0o644, "site/run": 0o755, "site/tool": 0o755,
	}
	c, err := Read(archive, "web/Dockerfile.prod")
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := c.Tree.WriteTar(t.Context(), &buf); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for tr := tar.NewReader(&buf); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got[strings.TrimSuffix(h.Name, "/")] = h.Mode & 0o777
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("sent: %v, want %v", got, want)
	}
	dir := t.TempDir()
	if err := c.WriteFolder(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for name, mode := range want {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || int64(info.Mode().Perm()) != mode {
			t.Errorf("left: %s: %v, %v", name, info, err)
		}
	}
	if left, err := os.ReadFile(filepath.Join(dir, "keep.log")); err != nil || string(left) != "kept" {
		t.Errorf("left: %q, %v", left, err)
	}
}

func TestAContextThatCannotBeReadSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"broken/Dockerfile": `its .dockerignore: `,
		"linked/Dockerfile": `"elsewhere" is not a regular file`,
		"none/Dockerfile":   `open none/Dockerfile: file does not exist`,
	} {
		if _, err := Read(archive, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := Read(archive, "empty/Dockerfile"); err != nil {
		t.Errorf("a .dockerignore further down counts: %v", err)
	}
}
