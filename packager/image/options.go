package image

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/source"
)

// How images are made.
const (
	BuilderDocker = "docker" // by the engine, from a Dockerfile
	BuilderDirect = "direct" // here, without an engine
)

// When an engine pulls a base.
const (
	PullAlways  = source.PullAlways
	PullMissing = source.PullMissing
	PullNever   = source.PullNever
)

// Options configure the sources, builder and destination of images.
type Options struct {
	Version      string            // of Toskose; tags the images that its binaries are looked for in
	UnitImage    string            // the user's, to take the unit from; empty: the binary at hand
	ManagerImage string            // the user's, to build the manager's on; empty: the binary at hand
	Binaries     []string          // folders with the static binaries, first found first used
	Builder      string            // BuilderDocker if empty
	Platforms    []string          // OS/ARCH[/VARIANT]; empty: the engine's, without one linux of this machine
	Pull         string            // PullMissing if empty
	Bases        Place             // of bases; none: the engine if that is the output, else registries
	Output       Place             // Engine if none
	Push         bool              // push the images from the engine or layout
	Contexts     string            // a folder for build contexts, which are then all that is made
	Keychain     authn.Keychain    // Docker's credentials; nil: none
	Temp         string            // a folder for temporary files; empty: the system's
	Retry        time.Duration     // before a push is tried again, three times longer each time; 0: a second
	Progress     io.Writer         // a line for each step, unless there is Events
	Events       func(event.Event) // takes all that happens, one at a time; may be nil
	Debug        io.Writer         // output of the engine; may be nil

	platforms []v1.Platform // of Platforms
}

// Complete fills in defaults and rejects invalid options.
func (o Options) Complete() (Options, error) {
	o.Builder, o.Pull = cmp.Or(o.Builder, BuilderDocker), cmp.Or(o.Pull, PullMissing)
	o.Output, o.Retry = cmp.Or(o.Output, Engine), cmp.Or(o.Retry, time.Second)
	if o.Keychain == nil {
		o.Keychain = authn.NewMultiKeychain()
	}
	if o.Output == Engine {
		o.Bases = cmp.Or(o.Bases, Engine)
	}
	o.Bases = cmp.Or(o.Bases, Registry)
	if err := oneOf("--builder", o.Builder, BuilderDocker, BuilderDirect); err != nil {
		return o, err
	}
	if err := oneOf("--pull", o.Pull, PullAlways, PullMissing, PullNever); err != nil {
		return o, err
	}
	var err error
	if o.platforms, err = parsePlatforms(o.Platforms); err != nil {
		return o, err
	}
	return o, o.combine()
}

// combine refuses options that exclude each other.
func (o Options) combine() error {
	engine := o.Output == Engine && o.Contexts == ""
	switch {
	case o.Contexts != "" && (o.Output != Engine || o.Push):
		return errors.New("--contexts builds no images, so it excludes --output-images and --enable-push")
	case engine && o.Builder == BuilderDocker && o.Bases != Engine:
		return errors.New("--builder docker takes bases from the engine: --base-images is for --builder direct")
	case o.Builder == BuilderDocker && o.Output != Engine:
		return errors.New("--builder docker builds on the engine: --output-images is for --builder direct; --enable-push pushes from the engine")
	case engine && len(o.Platforms) > 1:
		return errors.New("an engine holds one platform of an image: for several, use --builder direct with --output-images registry or oci:DIR")
	case o.Output == Registry && o.Push:
		return errors.New("--output-images registry already pushes: omit --enable-push")
	case o.Pull != PullMissing && o.Bases != Engine:
		return errors.New("--pull is for bases on the engine, but --base-images names another place")
	}
	return nil
}

// usesEngine reports whether the builder needs an engine.
func (o Options) usesEngine() bool {
	return o.Bases == Engine || o.Output == Engine && o.Contexts == ""
}

func oneOf(flag, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s %q is not one of %s", flag, value, strings.Join(known, ", "))
}

// parsePlatforms reads a list in which none comes twice.
func parsePlatforms(list []string) ([]v1.Platform, error) {
	var all []v1.Platform
	for _, text := range list {
		p, err := v1.ParsePlatform(text)
		if err != nil || p.OS != "linux" || p.Architecture == "" || p.OSVersion != "" {
			return nil, fmt.Errorf("--platform %q is not linux/ARCH or linux/ARCH/VARIANT", text)
		}
		if slices.ContainsFunc(all, p.Equals) {
			return nil, fmt.Errorf("--platform %s is given twice", text)
		}
		all = append(all, *p)
	}
	return all, nil
}
