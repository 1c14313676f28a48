package image

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// How images are made.
const (
	BuilderDocker = "docker" // by the engine, from a Dockerfile
	BuilderDirect = "direct" // here, without an engine
)

// When an engine pulls a base.
const (
	PullAlways  = "always"
	PullMissing = "missing"
	PullNever   = "never"
)

// Places that images are taken from and written to; a folder with an OCI image
// layout is a third, written oci:DIR.
const (
	PlaceEngine   = "engine"
	PlaceRegistry = "registry"
	prefixOCI     = "oci:"
)

// Options says what images are made from, how, and where they go.
type Options struct {
	Version      string         // of Toskose; tags the images that its binaries are looked for in
	UnitImage    string         // the user's, to take the unit from; empty: the binary at hand
	ManagerImage string         // the user's, to build the manager's on; empty: the binary at hand
	Binaries     []string       // folders with the static binaries, first found first used
	Builder      string         // BuilderDocker if empty
	Platforms    []string       // OS/ARCH[/VARIANT]; empty: the engine's, without one linux of this machine
	Pull         string         // PullMissing if empty
	Bases        string         // the place of bases; empty: the engine if that is the output, else registries
	Output       string         // PlaceEngine if empty
	Push         bool           // push what is in the engine or in a layout
	Contexts     string         // a folder for build contexts, which are then all that is made
	Keychain     authn.Keychain // Docker's credentials; nil: none
	Temp         string         // a folder for temporary files; empty: the system's
	Retry        time.Duration  // before a push is tried again, three times longer each time; 0: a second
	Progress     io.Writer      // a line for each step, unless there is Events
	Events       func(Event)    // takes all that happens, one at a time; may be nil
	Debug        io.Writer      // all that the engine says; may be nil
}

// Complete fills in what is left open, and refuses what means nothing.
func (o Options) Complete() (Options, error) {
	setDefault(&o.Builder, BuilderDocker)
	setDefault(&o.Pull, PullMissing)
	setDefault(&o.Output, PlaceEngine)
	if o.Retry == 0 {
		o.Retry = time.Second
	}
	if o.Keychain == nil {
		o.Keychain = authn.NewMultiKeychain()
	}
	if o.Bases == "" {
		o.Bases = PlaceRegistry
		if o.Output == PlaceEngine {
			o.Bases = PlaceEngine
		}
	}
	if err := oneOf("--builder", o.Builder, BuilderDocker, BuilderDirect); err != nil {
		return o, err
	}
	if err := oneOf("--pull", o.Pull, PullAlways, PullMissing, PullNever); err != nil {
		return o, err
	}
	if err := errors.Join(place("--base-images", o.Bases), place("--output-images", o.Output)); err != nil {
		return o, err
	}
	if _, err := o.platforms(); err != nil {
		return o, err
	}
	return o, o.combine()
}

// combine refuses options that exclude each other.
func (o Options) combine() error {
	engine := o.Output == PlaceEngine && o.Contexts == ""
	switch {
	case o.Contexts != "" && (o.Output != PlaceEngine || o.Push):
		return errors.New("--contexts builds no images: it goes with neither --output-images nor --enable-push")
	case engine && o.Builder == BuilderDocker && o.Bases != PlaceEngine:
		return errors.New("--builder docker has its bases from the engine: --base-images is for --builder direct")
	case o.Builder == BuilderDocker && o.Output != PlaceEngine:
		return errors.New("--builder docker builds on the engine: --output-images is for --builder direct; --enable-push pushes from the engine")
	case engine && len(o.Platforms) > 1:
		return errors.New("an engine holds one platform of an image: several go to --output-images registry or oci:DIR, by --builder direct")
	case o.Output == PlaceRegistry && o.Push:
		return errors.New("--output-images registry pushes already: leave out --enable-push")
	case o.Pull != PullMissing && o.Bases != PlaceEngine:
		return errors.New("--pull is for bases of the engine: --base-images says that they are elsewhere")
	}
	return nil
}

// usesEngine tells whether anything is asked of an engine.
func (o Options) usesEngine() bool {
	return o.Bases == PlaceEngine || o.Output == PlaceEngine && o.Contexts == ""
}

func setDefault(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

func oneOf(flag, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s %q is not one of %s", flag, value, strings.Join(known, ", "))
}

func place(flag, value string) error {
	dir, ok := strings.CutPrefix(value, prefixOCI)
	if ok && dir != "" || value == PlaceEngine || value == PlaceRegistry {
		return nil
	}
	return fmt.Errorf("%s %q is not one of %s, %s, %sDIR", flag, value, PlaceEngine, PlaceRegistry, prefixOCI)
}

// platforms reads the list, in which none comes twice.
func (o Options) platforms() ([]v1.Platform, error) {
	var all []v1.Platform
	for _, text := range o.Platforms {
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
