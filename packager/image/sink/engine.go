package sink

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager/image/docker"
	"github.com/toskose/toskose/packager/image/layer"
)

// Engine loads images into an engine. It sends only the layers that the engine does not have:
// layers of a base, or layers sent before, are skipped.
type Engine struct {
	immediate
	Engine *docker.Engine

	mu   sync.Mutex
	sent map[string]bool // keys of the loaded layers; see layerKeys
}

// Put loads an image unless the engine has it. It names the image last, so that an interrupted load
// leaves an unnamed image, which is removed.
func (s *Engine) Put(ctx context.Context, name, pinned string, images []*Image) error {
	m := images[0] // an engine holds one platform of an image
	id, loaded := m.ID.String(), false
	if _, err := s.Engine.Client.ImageInspect(ctx, id); errdefs.IsNotFound(err) {
		if id, err = s.loadNew(ctx, name, m); err != nil {
			return fmt.Errorf("cannot load image %q into the engine: %w", name, err)
		}
		loaded = true
	} else if err != nil {
		return fmt.Errorf("cannot load image %q: %w", name, err)
	}
	for _, tag := range []string{pinned, name} {
		if tag == "" {
			continue
		}
		if err := s.Engine.Tag(ctx, id, tag); err != nil {
			if loaded {
				s.Engine.Discard(ctx, id)
			}
			return err
		}
	}
	return s.recordSent(m)
}

// layerKeys returns a key for each added layer: it identifies the layer and all layers below it, as
// an OCI chain ID does.
func layerKeys(m *Image) ([]string, error) {
	below := fmt.Sprint(m.base.Config.RootFS.DiffIDs)
	var all []string
	for _, l := range m.added {
		diffID, err := l.DiffID()
		if err != nil {
			return nil, err
		}
		below += " " + diffID.String()
		all = append(all, below)
	}
	return all, nil
}

// recordSent records that the engine has the added layers of an image.
func (s *Engine) recordSent(m *Image) error {
	all, err := layerKeys(m)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent == nil {
		s.sent = map[string]bool{}
	}
	for _, key := range all {
		s.sent[key] = true
	}
	return nil
}

// countPresent returns how many layers of an image the engine has, counted from the lowest.
func (s *Engine) countPresent(ctx context.Context, m *Image) (int, error) {
	all, err := layerKeys(m)
	if err != nil {
		return 0, err
	}
	bases := len(m.base.Config.RootFS.DiffIDs)
	if sent := s.countSent(all); sent > 0 || s.hasBase(ctx, m) {
		return bases + sent, nil
	}
	return 0, nil
}

// countSent returns how many of the added layers the engine has received, counted from the lowest.
func (s *Engine) countSent(keys []string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, key := range slices.Backward(keys) {
		if s.sent[key] {
			return i + 1
		}
	}
	return 0
}

// hasBase reports whether the engine has all layers of an image's base.
func (s *Engine) hasBase(ctx context.Context, m *Image) bool {
	diffs := m.base.Config.RootFS.DiffIDs
	if len(diffs) == 0 {
		return false
	}
	has, err := s.Engine.Client.ImageInspect(ctx, m.base.Ref)
	if err != nil {
		return false
	}
	return slices.EqualFunc(has.RootFS.Layers, diffs, func(a string, b v1.Hash) bool { return a == b.String() })
}

// loadNew loads an image that the engine does not have, and returns its ID in the engine. If the
// engine rejects an image without the layers that it should have, loadNew sends all layers.
func (s *Engine) loadNew(ctx context.Context, name string, m *Image) (id string, err error) {
	present, err := s.countPresent(ctx, m)
	if err != nil {
		return "", err
	}
	load := func(present int) (string, error) {
		return s.Engine.Load(ctx, m.name, m.ID.String(), func(ctx context.Context, w io.Writer) error { return archive(ctx, w, m, present) })
	}
	id, err = load(present)
	if err != nil && present > 0 && ctx.Err() == nil {
		s.Engine.Log.Debugf("%s: the engine wants all layers: %v\n", name, err)
		id, err = load(0)
	}
	return id, err
}

// archive writes an image in the format of `docker save`, without the lowest layers, which the engine
// has.
func archive(ctx context.Context, w io.Writer, m *Image, present int) error {
	tw := tar.NewWriter(w)
	names := make([]string, len(m.base.Config.RootFS.DiffIDs))
	for i := range names {
		names[i] = fmt.Sprintf("base-%d.tar", i)
	}
	bases := len(names)
	if present < bases {
		layers, err := m.base.Layers()
		if err != nil {
			return err
		}
		for i, l := range layers {
			if err := archiveBase(ctx, tw, names[i], l); err != nil {
				return err
			}
		}
	}
	for i, l := range m.added {
		name := layer.Names[i] + ".tar"
		names = append(names, name)
		if bases+i < present {
			continue
		}
		if err := l.Tree.AddTarTo(ctx, tw, name); err != nil {
			return err
		}
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "Layers": names}})
	if err != nil {
		return err
	}
	for _, f := range []layer.Entry{layer.Data("config.json", 0o644, m.config), layer.Data("manifest.json", 0o644, manifest)} {
		if err := f.AddTo(ctx, tw); err != nil {
			return err
		}
	}
	return tw.Close()
}

func archiveBase(ctx context.Context, tw *tar.Writer, name string, l v1.Layer) error {
	size, err := l.Size()
	if err != nil {
		return err
	}
	r, err := l.Compressed()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size}); err != nil {
		return err
	}
	_, err = io.Copy(tw, layer.Stoppable(ctx, r))
	return err
}
