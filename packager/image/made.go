package image

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// made is an image that was made here: a base with layers on it. Its manifest,
// for which all layers are compressed, is made when it is asked for; an engine
// never does.
type made struct {
	v1.Image // by its manifest

	name     string
	app      string // the label LabelApp
	base     base
	platform v1.Platform
	config   []byte
	about    About
	id       v1.Hash // of config
	own      []*treeLayer
}

// assemble puts layers on a base. Their digests are those of what is not
// compressed.
func assemble(j *job, own []*treeLayer) (*made, error) {
	c := j.config()
	for i, l := range own {
		diffID, err := l.DiffID()
		if err != nil {
			return nil, err
		}
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, diffID)
		if len(c.History) > 0 || len(j.base.config.RootFS.DiffIDs) == 0 { // all of it or none
			c.History = append(c.History, v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "toskose " + layerNames[i]})
		}
	}
	m := &made{name: j.image.Name, app: j.app(), base: j.base, platform: j.platform, own: own, about: aboutOf(c)}
	var err error
	if m.config, err = json.Marshal(c); err != nil {
		return nil, fmt.Errorf("cannot encode the configuration of image %q: %w", m.name, err)
	}
	if m.id, _, err = v1.SHA256(bytes.NewReader(m.config)); err != nil {
		return nil, err
	}
	m.Image, err = partial.CompressedToImage(&manifested{made: m, layers: sync.OnceValues(m.Layers), manifest: sync.OnceValues(m.makeManifest)})
	return m, err
}

// Layers implements v1.Image: the base's as they are, so that a registry that
// has them is not sent them again.
func (m *made) Layers() ([]v1.Layer, error) {
	layers, err := m.base.layers()
	if err != nil {
		return nil, fmt.Errorf("cannot get the layers of base image %q: %w", m.base.ref, err)
	}
	all := append([]v1.Layer{}, layers...)
	for _, l := range m.own {
		all = append(all, typedLayer{l, m.layerType()})
	}
	return all, nil
}

// mediaType is the base's manifest's, so that its layers keep their types.
func (m *made) mediaType() types.MediaType {
	if m.base.media == types.DockerManifestSchema2 {
		return types.DockerManifestSchema2
	}
	return types.OCIManifestSchema1
}

func (m *made) layerType() types.MediaType {
	if m.mediaType() == types.DockerManifestSchema2 {
		return types.DockerLayer
	}
	return types.OCILayer
}

func (m *made) makeManifest() ([]byte, error) {
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
		Config: v1.Descriptor{MediaType: configType, Size: int64(len(m.config)), Digest: m.id},
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

// manifested is what the rest of v1.Image is made of.
type manifested struct {
	*made
	layers   func() ([]v1.Layer, error)
	manifest func() ([]byte, error)
}

var _ partial.CompressedImageCore = (*manifested)(nil)

// RawConfigFile implements partial.CompressedImageCore.
func (m *manifested) RawConfigFile() ([]byte, error) { return m.config, nil }

// MediaType implements partial.CompressedImageCore.
func (m *manifested) MediaType() (types.MediaType, error) { return m.mediaType(), nil }

// RawManifest implements partial.CompressedImageCore.
func (m *manifested) RawManifest() ([]byte, error) { return m.manifest() }

// LayerByDigest implements partial.CompressedImageCore.
func (m *manifested) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if h == m.id {
		return configLayer{m.made}, nil
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

// configLayer is an image's configuration, which is uploaded as layers are.
type configLayer struct{ m *made }

// Digest implements partial.CompressedLayer.
func (c configLayer) Digest() (v1.Hash, error) { return c.m.id, nil }

// Size implements partial.CompressedLayer.
func (c configLayer) Size() (int64, error) { return int64(len(c.m.config)), nil }

// MediaType implements partial.CompressedLayer.
func (c configLayer) MediaType() (types.MediaType, error) { return types.OCIConfigJSON, nil }

// Compressed implements partial.CompressedLayer.
func (c configLayer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(c.m.config)), nil
}

// typedLayer is a layer of the kind that its manifest has.
type typedLayer struct {
	*treeLayer
	media types.MediaType
}

// MediaType implements v1.Layer.
func (l typedLayer) MediaType() (types.MediaType, error) { return l.media, nil }

// indexOf is the index of one image for several platforms.
func indexOf(images []*made) v1.ImageIndex {
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
