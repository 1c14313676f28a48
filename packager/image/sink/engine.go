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
	sent map[string]bool // loaded layers, each with its lower layers
}

// Put loads an image, unless the engine has it. It names the image last, so that an interrupted
// load leaves an unnamed image, which is removed.
func (s *Engine) Put(ctx context.Context, name, own string, images []*Image) error {
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
	for _, tag := range []string{own, name} {
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
	return s.remember(m)
}

// stacks returns, for each layer that was made here, a key for it and all below
// it.
func stacks(m *Image) ([]string, error) {
	below := fmt.Sprint(m.base.Config.RootFS.DiffIDs)
	var all []string
	for _, l := range m.own {
		diffID, err := l.DiffID()
		if err != nil {
			return nil, err
		}
		below += " " + diffID.String()
		all = append(all, below)
	}
	return all, nil
}

func (s *Engine) remember(m *Image) error {
	all, err := stacks(m)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent == nil {
		s.sent = map[string]bool{}
	}
	for _, stack := range all {
		s.sent[stack] = true
	}
	return nil
}

// has counts an image's layers that the engine has, from below.
func (s *Engine) has(ctx context.Context, m *Image) (int, error) {
	all, err := stacks(m)
	if err != nil {
		return 0, err
	}
	bases := len(m.base.Config.RootFS.DiffIDs)
	if own := s.hasSent(all); own > 0 || s.hasBase(ctx, m) {
		return bases + own, nil
	}
	return 0, nil
}

// hasSent counts the layers made here that the engine was sent, from below.
func (s *Engine) hasSent(stacks []string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, stack := range slices.Backward(stacks) {
		if s.sent[stack] {
			return i + 1
		}
	}
	return 0
}

// hasBase reports whether the engine has the very layers that an image is on.
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

// loadNew loads an image that the engine does not have, and returns the id by
// which it knows it.
func (s *Engine) loadNew(ctx context.Context, name string, m *Image) (id string, err error) {
	has, err := s.has(ctx, m)
	if err != nil {
		return "", err
	}
	load := func(has int) (string, error) {
		return s.Engine.Load(ctx, m.name, m.ID.String(), func(ctx context.Context, w io.Writer) error { return archive(ctx, w, m, has) })
	}
	id, err = load(has)
	if err != nil && has > 0 && ctx.Err() == nil {
		s.Engine.Log.Debugf("%s: the engine wants all layers: %v\n", name, err)
		id, err = load(0)
	}
	return id, err
}

// archive writes an image as `docker save` does, without the first layers,
// which an engine that has them does not read.
func archive(ctx context.Context, w io.Writer, m *Image, has int) error {
	tw := tar.NewWriter(w)
	names := make([]string, len(m.base.Config.RootFS.DiffIDs))
	for i := range names {
		names[i] = fmt.Sprintf("base-%d.tar", i)
	}
	bases := len(names)
	if has < bases {
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
	for i, l := range m.own {
		name := layer.Names[i] + ".tar"
		names = append(names, name)
		if bases+i < has {
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
