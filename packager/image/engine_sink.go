package image

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// engineSink loads images into an engine: of those on a base that it has, or on
// layers that it was just sent, only what is new.
type engineSink struct {
	engine *client.Client
	follow func(stream io.Reader, each func(message)) error
	debugf func(format string, args ...any)

	watched func(io.Writer, Event) io.Writer

	mu   sync.Mutex
	sent map[string]bool // layers that were loaded, each with those below it
}

// cleaning is how long an engine has, after an interruption, to answer and to
// remove what must not be left.
const cleaning = time.Minute

// lasting is for what an engine has to finish: it ends that much after ctx.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(cleaning, cancel) })
	return last, func() { stop(); cancel() }
}

// put loads an image, unless the engine has it. It gets its name last: what was
// interrupted has none, and is removed.
func (s *engineSink) put(ctx context.Context, name string, images []*made) error {
	m := images[0] // Options.combine refuses several
	id, loaded := m.id.String(), false
	if _, err := s.engine.ImageInspect(ctx, id); errdefs.IsNotFound(err) {
		if id, err = s.loadNew(ctx, name, m); err != nil {
			return fmt.Errorf("cannot load image %q into the engine: %w", name, err)
		}
		loaded = true
	} else if err != nil {
		return fmt.Errorf("cannot load image %q: %w", name, err)
	}
	if err := tag(ctx, s.engine, id, name); err != nil {
		if loaded {
			s.discard(ctx, id)
		}
		return err
	}
	return s.remember(m)
}

// stacks gives, for each layer that was made here, a word for it and all below
// it.
func stacks(m *made) ([]string, error) {
	below := fmt.Sprint(m.base.config.RootFS.DiffIDs)
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

func (s *engineSink) remember(m *made) error {
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

// has tells how many of an image's layers the engine has, from below.
func (s *engineSink) has(ctx context.Context, m *made) (int, error) {
	all, err := stacks(m)
	if err != nil {
		return 0, err
	}
	bases := len(m.base.config.RootFS.DiffIDs)
	if own := s.hasSent(all); own > 0 || s.hasBase(ctx, m) {
		return bases + own, nil
	}
	return 0, nil
}

// hasSent tells how many of the layers that were made here it was sent.
func (s *engineSink) hasSent(stacks []string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, stack := range slices.Backward(stacks) {
		if s.sent[stack] {
			return i + 1
		}
	}
	return 0
}

// tag names an image, if there was no interruption before.
func tag(ctx context.Context, engine *client.Client, id, name string) error {
	last, cancel := lasting(ctx)
	defer cancel()
	err := ctx.Err()
	if err == nil {
		err = engine.ImageTag(last, id, name)
	}
	if err != nil {
		return fmt.Errorf("cannot name image %q: %w", name, err)
	}
	return nil
}

// discard removes an image that has got no name.
func (s *engineSink) discard(ctx context.Context, id string) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	found, err := s.engine.ImageInspect(ctx, id)
	if err == nil && len(found.RepoTags) == 0 {
		_, err = s.engine.ImageRemove(ctx, id, image.RemoveOptions{PruneChildren: true})
	}
	if err != nil && !errdefs.IsNotFound(err) {
		s.debugf("the image %s, which was not finished, stays: %v\n", id, err)
	}
}

func (s *engineSink) commit(context.Context) error { return nil }

func (s *engineSink) abort() {}

// hasBase tells whether the engine has the very layers that an image is on.
func (s *engineSink) hasBase(ctx context.Context, m *made) bool {
	diffs := m.base.config.RootFS.DiffIDs
	if len(diffs) == 0 {
		return false
	}
	found, err := s.engine.ImageInspect(ctx, m.base.ref)
	if err != nil {
		return false
	}
	return slices.EqualFunc(found.RootFS.Layers, diffs, func(a string, b v1.Hash) bool { return a == b.String() })
}

// loadNew loads an image that the engine does not have, and gives the id by
// which it knows it.
func (s *engineSink) loadNew(ctx context.Context, name string, m *made) (id string, err error) {
	has, err := s.has(ctx, m)
	if err != nil {
		return "", err
	}
	id, err = s.load(ctx, m, has)
	if err != nil && has > 0 && ctx.Err() == nil {
		s.debugf("%s: the engine wants all layers: %v\n", name, err)
		id, err = s.load(ctx, m, 0)
	}
	return id, err
}

// load sends an image. An engine that was sent all of it finishes what it
// began, whether or not somebody waits: so an interruption breaks off what is
// sent, or else the answer is waited for.
func (s *engineSink) load(ctx context.Context, m *made, has int) (id string, err error) {
	reader, writer := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := archive(ctx, s.watched(writer, Event{Image: m.name, State: StateSending}), m, has)
		_ = writer.CloseWithError(err) // never fails, by its documentation
		written <- err
	}()
	last, cancel := lasting(ctx)
	defer cancel()
	// It never fails, as above, and does nothing where all was written.
	defer context.AfterFunc(ctx, func() { _ = writer.CloseWithError(ctx.Err()) })()
	id = m.id.String()
	answer, err := s.engine.ImageLoad(last, reader, client.ImageLoadWithQuiet(true))
	if err == nil {
		err = s.follow(answer.Body, func(m message) {
			if said, ok := strings.CutPrefix(m.Stream, "Loaded image ID: "); ok {
				id = strings.TrimSpace(said)
			}
		})
		answer.Body.Close()
	}
	_ = reader.Close() // ends the writer where the engine read no further; never fails
	if writeErr := <-written; writeErr != nil && !errors.Is(writeErr, io.ErrClosedPipe) {
		return "", writeErr // a file of the archive; what the engine says follows from it
	}
	if err == nil && ctx.Err() != nil {
		s.discard(ctx, id)
		err = ctx.Err()
	}
	return id, err
}

// archive writes an image as `docker save` does, without the first layers,
// which an engine that has them does not read.
func archive(ctx context.Context, w io.Writer, m *made, has int) error {
	tw := tar.NewWriter(w)
	names := make([]string, len(m.base.config.RootFS.DiffIDs))
	for i := range names {
		names[i] = fmt.Sprintf("base-%d.tar", i)
	}
	bases := len(names)
	if has < bases {
		layers, err := m.base.layers()
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
		names = append(names, layerNames[i]+".tar")
		if bases+i < has {
			continue
		}
		size, err := l.tree.size()
		if err != nil {
			return err
		}
		if err := tw.WriteHeader(&tar.Header{Name: layerNames[i] + ".tar", Mode: 0o644, Size: size}); err != nil {
			return err
		}
		if err := l.tree.write(ctx, tw); err != nil {
			return err
		}
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "Layers": names}})
	if err != nil {
		return err
	}
	for _, f := range []entry{bytesEntry("config.json", 0o644, m.config), bytesEntry("manifest.json", 0o644, manifest)} {
		if err := f.write(ctx, tw); err != nil {
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
	_, err = io.Copy(tw, &stoppable{ctx, r})
	return err
}
