package image_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/internal/engine"
)

// TestTheOperatorsImageReplacesTheOneBefore, which does not fill the disk.
func TestTheOperatorsImageReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ref := b.name + ":operator"
	engine.Remove(t, b.Client, ref)
	build := func() string {
		t.Helper()
		builder, err := image.New(b.Client, image.Options{Version: b.name, Binaries: []string{b.binaries}, Temp: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if err := builder.BuildOperator(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		return b.id(":operator")
	}
	b.binary("toskose-operator", "one")
	first := build()
	b.binary("toskose-operator", "two")
	second := build()
	if first == second {
		t.Fatal("another binary gives the same image")
	}
	if _, err := b.ImageInspect(t.Context(), first); err == nil {
		t.Errorf("the image before, %s, stays", first)
	}
	found, err := b.ImageInspect(t.Context(), ref)
	if err != nil || found.Config.User != packager.ManagerUser || !cmp.Equal(found.Config.Entrypoint, []string{"/toskose/operator/toskose-operator"}) {
		t.Errorf("it is %+v, %v", found.Config, err)
	}
}
