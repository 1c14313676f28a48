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

// When an engine pulls a base.
const (
	PullAlways  = source.PullAlways
	PullMissing = source.PullMissing
	PullNever   = source.PullNever
)

// Options configure the sources, builder and destination of images.
type Options struct {
	Version      string            // of Toskose; the tag of the images that contain its binaries
	UnitImage    string            // the user's image to take the unit from; empty: the local binary
	ManagerImage string            // the user's image to build the manager's on; empty: the local binary
	Binaries     []string          // folders that are searched for the static binaries, in order
	Platforms    []string          // OS/ARCH[/VARIANT]; empty: the engine's; without an engine, linux on this machine's architecture
	Pull         string            // PullMissing if empty
	Bases        Place             // of bases; the zero Place: the engine if that is the output, else registries
	Output       Place             // the zero Place: Engine
	Push         bool              // push the images from the engine or layout
	Contexts     string            // write build contexts to this folder and build nothing
	Keychain     authn.Keychain    // Docker's credentials; nil: none
	Temp         string            // folder for temporary files; empty: the system's
	Retry        time.Duration     // delay before a push is retried, tripled each time; 0: a second
	Progress     io.Writer         // receives a line for each step, unless Events is set
	Events       func(event.Event) // receives all events, one at a time; may be nil
	Debug        io.Writer         // receives the output of the engine; may be nil

	platforms []v1.Platform // parsed Platforms
}

// Complete fills in defaults and rejects invalid options.
func (o Options) Complete() (Options, error) {
	o.Pull = cmp.Or(o.Pull, PullMissing)
	o.Output, o.Retry = cmp.Or(o.Output, Engine), cmp.Or(o.Retry, time.Second)
	if o.Keychain == nil {
		o.Keychain = authn.NewMultiKeychain()
	}
	if o.Output == Engine {
		o.Bases = cmp.Or(o.Bases, Engine)
	}
	o.Bases = cmp.Or(o.Bases, Registry)
	if all := []string{PullAlways, PullMissing, PullNever}; !slices.Contains(all, o.Pull) {
		return o, fmt.Errorf("--pull %q is not one of %s", o.Pull, strings.Join(all, ", "))
	}
	var err error
	if o.platforms, err = parsePlatforms(o.Platforms); err != nil {
		return o, err
	}
	return o, o.combine()
}

// combine returns an error for options that exclude each other.
func (o Options) combine() error {
	engine := o.Output == Engine && o.Contexts == ""
	switch {
	case o.Contexts != "" && (o.Output != Engine || o.Push):
		return errors.New("--contexts builds no images, so it excludes --output-images and --enable-push")
	case engine && len(o.Platforms) > 1:
		return errors.New("an engine holds one platform of an image: for several, use --output-images registry or oci:DIR")
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

// parsePlatforms parses a list of platforms without duplicates.
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
