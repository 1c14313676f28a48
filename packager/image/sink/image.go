package sink

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/source"
)

// Image is a base with added layers. Its manifest, which requires compressed layers, is created on
// demand; an engine does not need it.
type Image struct {
	v1.Image // uses the manifest

	ID       v1.Hash // digest of its configuration
	name     string
	base     source.Base
	platform v1.Platform
	config   []byte
	added    []*layer.Layer
}

// Assemble adds layers to a base, and their digests to the configuration. A configuration contains
// digests of uncompressed layers.
func Assemble(name string, platform v1.Platform, base source.Base, c *v1.ConfigFile, added []*layer.Layer) (*Image, error) {
	for i, l := range added {
		diffID, err := l.DiffID()
		if err != nil {
			return nil, err
		}
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, diffID)
		if len(c.History) > 0 || len(base.Config.RootFS.DiffIDs) == 0 { // a partial history would be wrong
			c.History = append(c.History, v1.History{Created: v1.Time{Time: layer.Epoch}, CreatedBy: "toskose " + layer.Names[i]})
		}
	}
	m := &Image{name: name, base: base, platform: platform, added: added}
	var err error
	if m.config, err = json.Marshal(c); err != nil {
		return nil, fmt.Errorf("cannot encode the configuration of image %q: %w", m.name, err)
	}
	if m.ID, _, err = v1.SHA256(bytes.NewReader(m.config)); err != nil {
		return nil, err
	}
	m.Image, err = partial.CompressedToImage(&imageCore{Image: m, layers: sync.OnceValues(m.Layers), manifest: sync.OnceValues(m.makeManifest)})
	return m, err
}

// Layers implements v1.Image. It returns the base's layers unchanged, so that a registry that has
// them does not receive them again.
func (m *Image) Layers() ([]v1.Layer, error) {
	layers, err := m.base.Layers()
	if err != nil {
		return nil, fmt.Errorf("cannot get the layers of base image %q: %w", m.base.Ref, err)
	}
	all := append([]v1.Layer{}, layers...)
	for _, l := range m.added {
		all = append(all, typedLayer{l, m.layerType()})
	}
	return all, nil
}

// mediaType returns the media type of the base's manifest, so that its layers keep their types.
func (m *Image) mediaType() types.MediaType {
	if m.base.Media == types.DockerManifestSchema2 {
		return types.DockerManifestSchema2
	}
	return types.OCIManifestSchema1
}

func (m *Image) layerType() types.MediaType {
	if m.mediaType() == types.DockerManifestSchema2 {
		return types.DockerLayer
	}
	return types.OCILayer
}

func (m *Image) makeManifest() ([]byte, error) {
	configType := types.OCIConfigJSON
	if m.mediaType() == types.DockerManifestSchema2 {
		configType = types.DockerConfigJSON
	}
	layers, err := m.Layers()
	if err != nil {
		return nil, err
	}
	manifest := v1.Manifest{
		SchemaVersion: 2, MediaType: m.mediaType(), Layers: []v1.Descriptor{},
		Config: v1.Descriptor{MediaType: configType, Size: int64(len(m.config)), Digest: m.ID},
	}
	for _, l := range layers {
		desc, err := partial.Descriptor(l)
		if err != nil {
			return nil, fmt.Errorf("cannot describe image %q: %w", m.name, err)
		}
		manifest.Layers = append(manifest.Layers, *desc)
	}
	return json.Marshal(manifest)
}

// imageCore implements the methods of v1.Image from which partial derives the others.
type imageCore struct {
	*Image
	layers   func() ([]v1.Layer, error)
	manifest func() ([]byte, error)
}

var _ partial.CompressedImageCore = (*imageCore)(nil)

// RawConfigFile implements partial.CompressedImageCore.
func (m *imageCore) RawConfigFile() ([]byte, error) { return m.config, nil }

// MediaType implements partial.CompressedImageCore.
func (m *imageCore) MediaType() (types.MediaType, error) { return m.mediaType(), nil }

// RawManifest implements partial.CompressedImageCore.
func (m *imageCore) RawManifest() ([]byte, error) { return m.manifest() }

// LayerByDigest implements partial.CompressedImageCore.
func (m *imageCore) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if h == m.ID {
		return partial.ConfigLayer(m)
	}
	layers, err := m.layers()
	if err != nil {
		return nil, err
	}
	for _, l := range layers {
		if digest, err := l.Digest(); err != nil || digest == h {
			return l, err
		}
	}
	return nil, fmt.Errorf("image %q has no layer %s", m.name, h)
}

// typedLayer is a layer with the media type of its manifest.
type typedLayer struct {
	*layer.Layer
	media types.MediaType
}

// MediaType implements v1.Layer.
func (l typedLayer) MediaType() (types.MediaType, error) { return l.media, nil }

// indexOf returns an index of the variants of an image.
func indexOf(images []*Image) v1.ImageIndex {
	media := types.OCIImageIndex
	if images[0].mediaType() == types.DockerManifestSchema2 {
		media = types.DockerManifestList
	}
	index := mutate.IndexMediaType(empty.Index, media)
	for _, m := range images {
		platform := m.platform
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: m, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return index
}

// manifest is what a name refers to: an image or an index.
type manifest interface {
	Digest() (v1.Hash, error)
	Size() (int64, error)
	MediaType() (types.MediaType, error)
	RawManifest() ([]byte, error)
}

func manifestOf(images []*Image) manifest {
	if len(images) == 1 {
		return images[0]
	}
	return indexOf(images)
}
