package image

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func TestOfWhatBeginsAlikeOneGoesAhead(t *testing.T) {
	t.Parallel()
	var done atomic.Int32
	ahead := map[string]*atomic.Bool{"a": {}, "b": {}}
	err := inTurns(t.Context(), strings.Split("a1 a2 b1 a3 b2 a4 a5 a6 a7", " "), func(w string) string { return w[:1] },
		func(_ context.Context, w string, passed func()) error {
			if strings.HasSuffix(w, "1") {
				ahead[w[:1]].Store(true)
				if w == "a1" {
					passed() // and again at its end
				}
			} else if !ahead[w[:1]].Load() {
				t.Errorf("%s did not wait", w)
			}
			done.Add(1)
			return nil
		})
	if err != nil || done.Load() != 9 {
		t.Errorf("%d were done, %v", done.Load(), err)
	}
}

func TestWhoWaitsForWhatFailsIsNotDone(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	err := inTurns(t.Context(), []string{"a", "b", "c"}, func(string) string { return "" }, func(_ context.Context, w string, _ func()) error {
		if w != "a" {
			t.Errorf("%s is done", w)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestTheStepsInCommonEndWithTheBinary(t *testing.T) {
	t.Parallel()
	for _, j := range jobs(t, "x", v1.Config{User: "app", StopSignal: "SIGQUIT"}) {
		text, err := j.dockerfile()
		if err != nil {
			t.Fatal(err)
		}
		if line := strings.Split(string(text), "\n")[j.commonSteps(string(text))-1]; line != "ADD toskose.tar /" {
			t.Errorf("%s: they end with %q", j.image.Name, line)
		}
	}
	for text, want := range map[string]int{"Step 7/12 : ADD a /\n": 7, " ---> Using cache\n": 0, "Step by step": 0, "": 0} {
		if step, _, ok := stepOf(text); ok != (want > 0) || ok && step != want {
			t.Errorf("%q is step %d, %t", text, step, ok)
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
	file := entry{name: "a/b/file", mode: 0o755, size: 10000, open: func() (io.ReadCloser, error) { return os.Open(source) }}
	wide := make([]byte, 2*piece+1)
	for i := range wide {
		wide[i] = byte(i)
	}
	layer := newTree([]entry{file, bytesEntry("a/empty", 0o644, nil), bytesEntry("b/large", 0o644, wide[1:]), bytesEntry("c/large", 0o644, wide), bytesEntry("c/next", 0o644, wide[:3]), bytesEntry("a/block", 0o644, make([]byte, block)), bytesEntry("ünï/"+strings.Repeat("long/", 40)+"x", 0o600, []byte("x"))})
	var want bytes.Buffer
	if err := layer.write(t.Context(), &want); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "layer")
	if err := createFile(path, func(f *os.File) error { return layer.writeTo(t.Context(), f) }); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes, otherwise %d, %v", len(got), want.Len(), err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, size := range []int64{9999, 10001} {
		file.size = size
		write := func(f *os.File) error { return newTree([]entry{file}).writeTo(t.Context(), f) }
		if err := createFile(path, write); err == nil || !strings.Contains(err.Error(), `cannot add "a/b/file": it has 10000 bytes instead of`) {
			t.Errorf("a file that has changed: %v", err)
		}
	}
	if err := createFile(path, func(f *os.File) error { return layer.writeTo(ended, f) }); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestContextsShareTheBinary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writer := contextWriter{shared: map[string]func() (string, error){}}
	var binaries []os.FileInfo
	for i, j := range slices.Repeat(jobs(t, "x", v1.Config{})[:1], 2) {
		j.shared = "unit"
		at := filepath.Join(dir, string(rune('a'+i)))
		if err := writer.writeContextTo(t.Context(), j, at); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(at, "toskose.tar"))
		if err != nil {
			t.Fatal(err)
		}
		binaries = append(binaries, info)
	}
	if !os.SameFile(binaries[0], binaries[1]) {
		t.Error("the binary is there twice")
	}
}
