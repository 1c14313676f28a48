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

// Image is an image for one platform, with everything that it consists of.
type Image struct {
	Plan     packager.Image
	Platform v1.Platform
	Base     source.Base
	Entry    []string     // entry point; empty: the base's
	User     string       // empty: the base's
	Trees    []layer.Tree // the added layers: Toskose's binary, if any, and then the application's files
	Shared   string       // equal for images whose first tree is the same; empty: it is not shared
}

// App returns the application's name.
func (i *Image) App() string { return i.Plan.Labels[packager.LabelApp] }

// toskoseFolder is the folder of all files added to images, so that no file of a base changes.
const toskoseFolder = "/toskose/"

// imageUser represents the user of the base image.
const imageUser = -1

// Files returns the files of an image in a plan.
func Files(plan packager.Image, archive fs.FS) (layer.Tree, error) {
	var files layer.Tree
	for _, f := range plan.Files {
		if !strings.HasPrefix(f.Path, toskoseFolder) {
			return nil, fmt.Errorf("image %q: file %q is not below %s", plan.Name, f.Path, toskoseFolder)
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

// inTree returns the path in a tree for an absolute path of an image.
func inTree(name string) string { return path.Clean(strings.TrimPrefix(name, "/")) }

// AddBinary adds a layer with a binary of Toskose.
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
			files[k].Mode &^= group // the unit runs as root and must not trust files that others can write
		}
	}
	if script := baseCommand(i.Base.Config.Config); i.Plan.Unit && script != nil {
		files = append(files, layer.Data(inTree(packager.BaseCommandPath), 0o755, script))
	}
	i.Trees = append(i.Trees, layer.NewTree(files))
}

// Bytes returns the total size of the files in the added layers.
func (i *Image) Bytes() (total int64) {
	for _, t := range i.Trees {
		total += t.Bytes()
	}
	return total
}

// layerName returns the name of the layer at an index of Trees.
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
