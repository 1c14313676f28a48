// Package source finds the bases of images: on an engine, in registries or in an OCI image layout.
// Its goroutines end before the function that Prefetch returns does.
package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Source finds images: bases to build on, and images that run unchanged.
type Source interface {
	Find(ctx context.Context, ref string, platform v1.Platform) (*Image, error)

	// Resolve returns a registry's digest of an image. If the digest is unknown, the error is the
	// reason, and the rest of the result is valid.
	Resolve(ctx context.Context, ref string) (Resolved, error)
}

// Resolved describes an image that runs unchanged.
type Resolved struct {
	Digest string // the registry's digest
	User   string // the user that it runs as; empty: unknown
}

// digestIn returns the digest of a reference, or "" if it has none.
func digestIn(ref string) (named reference.Named, digest string, err error) {
	named, err = reference.ParseDockerRef(ref)
	if err != nil {
		return nil, "", fmt.Errorf("%q is not an image: %w", ref, err)
	}
	if digested, ok := named.(reference.Digested); ok {
		digest = digested.Digest().String()
	}
	return named, digest, nil
}

// None is a source without images.
type None struct{}

// Find implements Source.
func (None) Find(context.Context, string, v1.Platform) (*Image, error) {
	return nil, errors.New("no engine is used")
}

// Resolve implements Source.
func (None) Resolve(context.Context, string) (Resolved, error) {
	return Resolved{}, errors.New("no engine is used")
}

// Image is an image to build on.
type Image struct {
	Config *v1.ConfigFile
	Media  types.MediaType                                           // of its manifest
	Layers func() ([]v1.Layer, error)                                // transferred when they are read
	File   func(ctx context.Context, name string) (io.Reader, error) // of its file system

	// Missing returns the absolute paths that do not exist in the image. It is nil if that would
	// require reading all layers.
	Missing func(ctx context.Context, paths []string) ([]string, error)

	withFiles func(ctx context.Context, use func(Files) error) error // nil: WithFiles reads all layers
}

// Base is an image that images can be built on.
type Base struct {
	*Image
	Ref string
	UID int // numeric ID of its user
}

// ScratchRef is the reference of the empty base.
const ScratchRef = "scratch"

// Scratch returns the empty base for a platform.
func Scratch(platform v1.Platform) Base {
	config := &v1.ConfigFile{
		Architecture: platform.Architecture, OS: platform.OS, Variant: platform.Variant, RootFS: v1.RootFS{Type: "layers"},
	}
	return Base{Ref: ScratchRef, Image: &Image{
		Config: config, Media: types.OCIManifestSchema1, Layers: func() ([]v1.Layer, error) { return nil, nil },
		File: func(context.Context, string) (io.Reader, error) { return nil, fs.ErrNotExist },
	}}
}

// NewBase returns an image as a base, or an error if nothing can be built on it.
func NewBase(ctx context.Context, ref string, img *Image, platform v1.Platform) (Base, error) {
	subject, has := fmt.Sprintf("base image %q", ref), platformOf(img.Config)
	if has.OS != platform.OS || has.Architecture != platform.Architecture || platform.Variant != "" && has.Variant != "" && has.Variant != platform.Variant {
		return Base{}, fmt.Errorf("%s is for %s, but images are built for %s; --platform says for which", subject, has, platform)
	}
	if steps := img.Config.Config.OnBuild; len(steps) > 0 {
		return Base{}, fmt.Errorf("%s has ONBUILD steps (%s), which would run while building: images are built by copying only; "+
			"build an image on it first, and name that as the base", subject, strings.Join(steps, "; "))
	}
	uid, err := userID(ctx, img)
	if err != nil {
		return Base{}, fmt.Errorf("%s: %w", subject, err)
	}
	return Base{Image: img, Ref: ref, UID: uid}, nil
}

// platformOf returns the platform of an image; its operating system defaults to linux.
func platformOf(c *v1.ConfigFile) v1.Platform {
	p := v1.Platform{OS: c.OS, Architecture: c.Architecture, Variant: c.Variant}
	if p.OS == "" {
		p.OS = "linux"
	}
	return p
}

// userID returns the numeric ID of an image's user, whose name may be defined in its /etc/passwd.
func userID(ctx context.Context, img *Image) (int, error) {
	user, _, _ := strings.Cut(img.Config.Config.User, ":")
	if user == "" || user == "root" {
		return 0, nil
	}
	if uid, err := strconv.ParseUint(user, 10, 31); err == nil {
		return int(uid), nil
	}
	r, err := img.File(ctx, "etc/passwd")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("its user is %q, and it has no /etc/passwd that maps that to a number", user)
	}
	if err != nil {
		return 0, fmt.Errorf("cannot read its /etc/passwd: %w", err)
	}
	for lines := bufio.NewScanner(io.LimitReader(r, 1<<20)); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) > 2 && fields[0] == user {
			if uid, err := strconv.ParseUint(fields[2], 10, 31); err == nil {
				return int(uid), nil
			}
		}
	}
	return 0, fmt.Errorf("its user is %q, which is not in its /etc/passwd", user)
}
