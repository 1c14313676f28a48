// Package recipe defines the content of an image: as an image configuration, and as a Dockerfile
// with its context for a builder that produces the same. It starts no goroutine.
package recipe

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/source"
)

// Image is an image for one platform, with all that it is made of.
type Image struct {
	Plan     packager.Image
	Platform v1.Platform
	Base     source.Base
	Entry    []string     // entry point; empty: the base's
	User     string       // empty: the base's
	Trees    []layer.Tree // a layer each: the last are the application's files, before them Toskose's binary if one is put in
	Shared   string       // is equal for images that have their first tree in common; empty: none has
}

// App is the application's name.
func (i *Image) App() string { return i.Plan.Labels[packager.LabelApp] }

// into is the folder of all files added to images, so that no file of a base changes.
const into = "/toskose/"

// imageUser represents the user of the base image.
const imageUser = -1

// Files returns the files of an image in a plan.
func Files(plan packager.Image, archive fs.FS) (layer.Tree, error) {
	var files layer.Tree
	for _, f := range plan.Files {
		if !strings.HasPrefix(f.Path, into) {
			return nil, fmt.Errorf("image %q: file %q is not below %s", plan.Name, f.Path, into)
		}
		e := layer.Data(inTree(f.Path), int64(f.Mode), f.Data)
		if f.Dir {
			e.Dir, e.Open = true, nil
		}
		if f.Owned {
			e.UID = imageUser
		}
		if f.Source != "" {
			info, err := fs.Stat(archive, f.Source)
			if err != nil {
				return nil, fmt.Errorf("image %q: %w", plan.Name, err)
			}
			e.Size, e.Open = info.Size(), func() (io.ReadCloser, error) { return archive.Open(f.Source) }
		}
		files = append(files, e)
	}
	return files, nil
}

// inTree is a path of an image in a tree.
func inTree(name string) string { return path.Clean(strings.TrimPrefix(name, "/")) }

// AddBinary adds a layer with a binary of Toskose's own.
func (i *Image) AddBinary(binary layer.Tree) {
	i.Trees = append(i.Trees, binary)
	i.Shared = i.Platform.String() + " " + binary[len(binary)-1].Name
}

// AddFiles adds the layer of the application's files, when the base is known.
func (i *Image) AddFiles(files layer.Tree) {
	files = slices.Clone(files)
	for k := range files {
		if files[k].UID != imageUser {
			continue
		}
		if files[k].UID = i.Base.UID; i.Base.UID == 0 {
			const group = 0o020
			files[k].Mode &^= group // the unit is root, and follows no one else's changes
		}
	}
	if script := baseCommand(i.Base.Config.Config); i.Plan.Unit && script != nil {
		files = append(files, layer.Data(inTree(packager.BaseCommandPath), 0o755, script))
	}
	i.Trees = append(i.Trees, layer.NewTree(files))
}

// Bytes is how many bytes its layers' files have.
func (i *Image) Bytes() (total int64) {
	for _, t := range i.Trees {
		total += t.Bytes()
	}
	return total
}

// layerName is the name of a layer.
func (i *Image) layerName(at int) string { return layer.Names[len(layer.Names)-len(i.Trees)+at] }

var layerTexts = map[string]string{layer.Names[0]: "Toskose", layer.Names[1]: "the application"}

// Growth returns the size that each layer adds to the base, also as text.
func (i *Image) Growth() (map[string]int64, string) {
	grows, texts := map[string]int64{}, []string{}
	for at, t := range i.Trees {
		name := i.layerName(at)
		grows[name] = t.Bytes()
		texts = append(texts, fmt.Sprintf("%s of %s", event.Bytes(t.Bytes()), layerTexts[name]))
	}
	return grows, strings.Join(texts, ", ")
}
