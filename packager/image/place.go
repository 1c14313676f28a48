package image

import (
	"fmt"
	"strings"
)

// Place is a source or destination of images. The zero Place is none.
type Place struct{ kind, dir string }

// The places besides layouts.
var (
	Engine   = Place{kind: "engine"}
	Registry = Place{kind: "registry"} // each image's own
)

// LayoutPrefix is the prefix of layouts in the text form of places.
const LayoutPrefix = "oci:"

// Layout is a folder with an OCI image layout.
func Layout(dir string) Place { return Place{kind: LayoutPrefix, dir: dir} }

// ParsePlace reads engine, registry or oci:DIR.
func ParsePlace(text string) (Place, error) {
	if dir, ok := strings.CutPrefix(text, LayoutPrefix); ok && dir != "" {
		return Layout(dir), nil
	}
	for _, p := range []Place{Engine, Registry} {
		if text == p.kind {
			return p, nil
		}
	}
	return Place{}, fmt.Errorf("%q is not one of %s, %s, %sDIR", text, Engine, Registry, LayoutPrefix)
}

// String returns the form that ParsePlace parses.
func (p Place) String() string { return p.kind + p.dir }

// text is the place in a sentence.
func (p Place) text() string {
	switch p {
	case Engine:
		return "the engine"
	case Registry:
		return "its registry"
	default:
		return p.dir
	}
}
