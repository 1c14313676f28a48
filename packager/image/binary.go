package image

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/recipe"
	"github.com/toskose/toskose/packager/image/sink"
	"github.com/toskose/toskose/packager/image/source"
)

// binary is a static binary of Toskose that images contain.
type binary struct {
	name string // of the file, and of the image that consists of it
	path string // in images
	flag string // the flag with which the user selects an image that contains it
	user string // that runs it; empty: root
}

var (
	unitBinary    = binary{"toskose-unit", packager.UnitPath, "--unit-image", ""}
	managerBinary = binary{"toskose-manager", packager.ManagerPath, "--manager-image", packager.ManagerUser}
)

// binaryTree returns the layer with a binary: from the image that the user selected; from a local
// binary, which also becomes the engine's image of this version; or, without a local binary, from
// the image of this version.
func (b *Builder) binaryTree(ctx context.Context, bin binary, given string, platform v1.Platform) (layer.Tree, error) {
	if given != "" {
		f, err := b.bases.Find(ctx, given, platform)
		if err != nil {
			return nil, err
		}
		return binaryFromImage(ctx, bin, given, f)
	}
	ref := bin.name + ":" + Tag(b.opts.Version)
	file, looked, err := FindBinary(b.opts.Binaries, bin.name, platform.Architecture)
	if err != nil {
		return nil, err
	}
	if file != "" {
		info, err := os.Stat(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read the binary: %w", err)
		}
		t := layer.NewTree([]layer.Entry{{
			Name: strings.TrimPrefix(bin.path, "/"), Mode: 0o755, Size: info.Size(),
			Open: func() (io.ReadCloser, error) { return os.Open(file) },
		}})
		return t, b.storeBinary(ctx, bin, ref, file, t, platform)
	}
	f, err := b.local.Find(ctx, ref, platform)
	if err != nil {
		return nil, fmt.Errorf("cannot find %q for %s: looked for %s, and for the image %q (%w); to get it, unpack a release archive of toskose, "+
			"which has it beside toskose, or run `make install ARCHS=%s` in the source of toskose, or name an image that has it with %s",
			bin.name, platform, strings.Join(looked, ", "), ref, err, platform.Architecture, bin.flag)
	}
	return binaryFromImage(ctx, bin, ref, f)
}

// storeBinary writes an image that consists of a binary to the engine, named after this version,
// unless images go elsewhere. Another build of the same version replaces it.
func (b *Builder) storeBinary(ctx context.Context, bin binary, ref, file string, t layer.Tree, platform v1.Platform) error {
	if b.opts.Output != Engine || b.opts.Contexts != "" {
		return nil
	}
	i := &recipe.Image{
		Plan:     packager.Image{Name: ref, Labels: map[string]string{packager.LabelVersion: b.opts.Version}},
		Platform: platform, Base: source.Scratch(platform), Entry: []string{bin.path}, User: bin.user, Trees: []layer.Tree{t},
	}
	m, err := sink.Assemble(ref, platform, i.Base, i.Config(), []*layer.Layer{layer.New(ctx, b.temp, t, false)})
	if err != nil {
		return fmt.Errorf("cannot build image %q from %q: %w", ref, file, err)
	}
	before := b.engine.ID(ctx, ref)
	if before == m.ID.String() {
		return nil
	}
	if err := (&sink.Engine{Engine: b.engine}).Put(ctx, ref, "", []*sink.Image{m}); err != nil {
		return err
	}
	b.log.Send(event.Event{Text: fmt.Sprintf("%s: built from %s", ref, file)})
	b.engine.RemoveReplaced(before, packager.LabelVersion, b.opts.Version)
	return nil
}

func binaryFromImage(ctx context.Context, bin binary, ref string, f *source.Image) (layer.Tree, error) {
	r, err := f.File(ctx, strings.TrimPrefix(bin.path, "/"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("image %q has no %s", ref, bin.path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s of image %q: %w", bin.path, ref, err)
	}
	var data bytes.Buffer
	if _, err := data.ReadFrom(r); err != nil {
		return nil, fmt.Errorf("cannot read %s of image %q: %w", bin.path, ref, err)
	}
	return layer.NewTree([]layer.Entry{layer.Data(strings.TrimPrefix(bin.path, "/"), 0o755, data.Bytes())}), nil
}

// Tag returns a version as an image tag, without characters such as "+".
func Tag(version string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, version)
}

// FindBinary searches folders for a static Linux binary of an architecture, such as amd64:
// NAME-linux-ARCH, or NAME if it is one. It returns an empty path and no error if it finds none;
// looked lists the paths, each with the reason why its file is not suitable.
func FindBinary(folders []string, name, arch string) (path string, looked []string, err error) {
	for _, dir := range folders {
		for _, file := range []string{name + "-linux-" + arch, name} {
			path := filepath.Join(dir, file)
			looked = append(looked, path)
			why, err := unsuitable(path, arch)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return "", nil, err
			case why == "":
				return path, looked, nil
			default:
				looked[len(looked)-1] += " (" + why + ")"
			}
		}
	}
	return "", looked, nil
}

var machines = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_ARM: "arm",
	elf.EM_RISCV: "riscv64", elf.EM_PPC64: "ppc64le", elf.EM_S390: "s390x",
}

// unsuitable returns the reason why a file cannot be used in an image for an architecture, or "".
func unsuitable(path, arch string) (why string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	program, err := elf.NewFile(f)
	if err != nil {
		return "not a linux binary", nil
	}
	if program.OSABI != elf.ELFOSABI_NONE && program.OSABI != elf.ELFOSABI_LINUX {
		return "not a linux binary", nil
	}
	if got := machines[program.Machine]; got != arch {
		return "for " + program.Machine.String(), nil
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			return "not static", nil
		}
	}
	return "", nil
}
