package layer

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func checkLayer(t *testing.T, image string, tree Tree) {
	t.Helper()
	var buf bytes.Buffer
	if err := tree.WriteTar(t.Context(), &buf); err != nil {
		t.Fatal(err)
	}
	if size, err := tree.tarSize(); err != nil || size != int64(buf.Len()) {
		t.Errorf("%s: a layer of %d bytes is said to have %d, %v", image, buf.Len(), size, err)
	}
	seen := map[string]bool{"": true}
	for tr := tar.NewReader(&buf); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(h.Name, "/")
		if seen[name] {
			t.Errorf("%s: %s comes twice", image, name)
		}
		seen[name] = true
		if i := strings.LastIndex(name, "/"); i >= 0 && !seen[name[:i]] {
			t.Errorf("%s: %s comes before its folder", image, name)
		}
		if !h.ModTime.Equal(Epoch) {
			t.Errorf("%s: %s is of %v", image, name, h.ModTime)
		}
	}
}

func TestFoldersThatAreNotNamedAreAdded(t *testing.T) {
	t.Parallel()
	checkLayer(t, "deep", NewTree([]Entry{Data("a/b/c/d", 0o644, nil), Data("a/e", 0o644, nil), {Name: "a/b", Mode: 0o700, Dir: true}}))
}

func TestNamesOfAnyLengthAndLanguageAreCountedRight(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("sehr-lang/", 30) + "ünï 名.sh"
	checkLayer(t, "long", NewTree([]Entry{Data(long, 0o644, []byte("x")), Data("a-b", 0o644, nil), Data("a/b", 0o644, make([]byte, 512))}))
}

func TestAFileThatHasChangedSinceEndsTheLayer(t *testing.T) {
	t.Parallel()
	e := Data("a", 0o644, []byte("12345"))
	for _, size := range []int64{4, 6} {
		e.Size = size
		if err := NewTree([]Entry{e}).WriteTar(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), `cannot add "a"`) {
			t.Errorf("size %d: %v", size, err)
		}
	}
}

func TestALayerIsTheSameInAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	if err := os.WriteFile(source, bytes.Repeat([]byte("0123456789"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	file := Entry{Name: "a/b/file", Mode: 0o755, Size: 10000, Open: func() (io.ReadCloser, error) { return os.Open(source) }}
	wide := make([]byte, 2*writeSize+1)
	for i := range wide {
		wide[i] = byte(i)
	}
	tree := NewTree([]Entry{file, Data("a/empty", 0o644, nil), Data("b/large", 0o644, wide[1:]), Data("c/large", 0o644, wide), Data("c/next", 0o644, wide[:3]), Data("a/block", 0o644, make([]byte, block)), Data("ünï/"+strings.Repeat("long/", 40)+"x", 0o600, []byte("x"))})
	var want bytes.Buffer
	if err := tree.WriteTar(t.Context(), &want); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "layer")
	if err := tree.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes, otherwise %d, %v", len(got), want.Len(), err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, size := range []int64{9999, 10001} {
		file.Size = size
		if err := NewTree([]Entry{file}).WriteFile(t.Context(), path); err == nil || !strings.Contains(err.Error(), `cannot add "a/b/file": it has 10000 bytes instead of`) {
			t.Errorf("a file that has changed: %v", err)
		}
	}
	if err := tree.WriteFile(ended, path); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
