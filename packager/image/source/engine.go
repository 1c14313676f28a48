package source

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/toskose/toskose/packager/image/docker"
	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/internal/once"
)

// When an engine pulls a base.
const (
	PullAlways  = "always"
	PullMissing = "missing"
	PullNever   = "never"
)

// Engine finds images on an engine, which pulls them.
type Engine struct {
	Engine  *docker.Engine
	Pull    string // PullAlways, PullMissing or PullNever
	Temp    *layer.Temp
	History bool // whether the history of images is wanted, which costs a question

	inspected once.Group[image.InspectResponse] // by reference
}

// Ahead inspects images before the platform is known. The caller must call wait at the end.
func (s *Engine) Ahead(ctx context.Context, refs []string) (wait func()) {
	var all sync.WaitGroup
	for _, ref := range refs {
		if _, err := reference.ParseDockerRef(ref); err == nil { // otherwise Find reports it
			all.Go(func() { _, _ = s.inspect(ctx, ref) }) // Find reports the error
		}
	}
	return all.Wait
}

// inspect inspects an image, once.
func (s *Engine) inspect(ctx context.Context, ref string) (image.InspectResponse, error) {
	return s.inspected.Do(ref, func() (image.InspectResponse, error) { return s.Engine.Client.ImageInspect(ctx, ref) })
}

// Find implements Source.
func (s *Engine) Find(ctx context.Context, ref string, platform v1.Platform) (*Image, error) {
	parsed, err := reference.ParseDockerRef(ref)
	if err != nil {
		return nil, fmt.Errorf("%q is not an image: %w", ref, err)
	}
	has, err := s.inspect(ctx, ref)
	lacks, err := lacking(has, err, platform)
	if err != nil {
		return nil, fmt.Errorf("cannot look for image %q: %w", ref, err)
	}
	if s.Pull == PullAlways || lacks != "" && s.Pull == PullMissing {
		if err := s.Engine.Pull(ctx, parsed.String(), platform); err != nil {
			if lacks == "" {
				return nil, fmt.Errorf("cannot pull image %q: %w; --pull missing takes the one that the engine has", ref, err)
			}
			return nil, fmt.Errorf("cannot get image %q: the engine has %s, and the pull failed: %w; "+
				"add it by docker pull, docker load or docker build", ref, lacks, err)
		}
		has, err = s.Engine.Client.ImageInspect(ctx, ref)
		if lacks, err = lacking(has, err, platform); err != nil {
			return nil, fmt.Errorf("cannot look for image %q: %w", ref, err)
		}
	}
	if lacks != "" {
		return nil, fmt.Errorf("cannot get image %q: the engine has %s", ref, lacks)
	}
	return s.image(ctx, has)
}

// Known implements Source: of an image that the engine has, and pulls no newer one of, the
// digest that it was pulled by counts.
func (s *Engine) Known(ctx context.Context, ref string) (known Known, err error) {
	named, digest, err := digestIn(ref)
	if err != nil {
		return known, err
	}
	has, err := s.inspect(ctx, ref)
	if err != nil && !errdefs.IsNotFound(err) {
		return known, err
	}
	there := err == nil
	if there && has.Config != nil {
		known.User = has.Config.User
	}
	switch {
	case digest != "":
		known.Digest = digest
		return known, nil
	case there && s.Pull != PullAlways:
		return s.pulled(ctx, named, has, known)
	case s.Pull == PullNever:
		return known, errors.New("the engine has none, and is to pull none (--pull never)")
	}
	known.Digest, err = s.Engine.Digest(ctx, named.String())
	return known, err
}

// pulled sets the digest by which an image was pulled. An engine with containerd's store also
// assigns a digest to an image that it built; in that case the registry must have the digest.
func (s *Engine) pulled(ctx context.Context, named reference.Named, has image.InspectResponse, known Known) (Known, error) {
	for _, text := range has.RepoDigests {
		pulled, digest, err := digestIn(text)
		if err != nil || pulled.Name() != named.Name() {
			continue
		}
		if has.Descriptor != nil {
			if _, err := s.Engine.Digest(ctx, pulled.String()); err != nil {
				return known, fmt.Errorf("the engine has one that its registry does not say to have: %w", err)
			}
		}
		known.Digest = digest
		return known, nil
	}
	return known, errors.New("the engine has one that came from no registry")
}

// lacking describes why the engine's response has no image for the platform; lacks is empty if it
// has one.
func lacking(has image.InspectResponse, err error, platform v1.Platform) (lacks string, _ error) {
	if errdefs.IsNotFound(err) {
		return "none", nil
	}
	if err == nil && has.Architecture != "" && has.Architecture != platform.Architecture {
		lacks = fmt.Sprintf("it for %s/%s, not for %s", has.Os, has.Architecture, platform)
	}
	return lacks, err
}

// image builds an image configuration from the engine's response: the engine exports the original
// one only together with all layers.
func (s *Engine) image(ctx context.Context, has image.InspectResponse) (*Image, error) {
	c := &v1.ConfigFile{Architecture: has.Architecture, OS: has.Os, Variant: has.Variant, OSVersion: has.OsVersion}
	c.RootFS.Type = "layers"
	for _, text := range has.RootFS.Layers {
		diffID, err := v1.NewHash(text)
		if err != nil {
			return nil, fmt.Errorf("cannot use image %q: %w", has.ID, err)
		}
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, diffID)
	}
	if has.Config != nil {
		data, err := json.Marshal(has.Config)
		if err == nil {
			err = json.Unmarshal(data, &c.Config)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot use image %q: its configuration: %w", has.ID, err)
		}
	}
	if s.History {
		history, err := s.Engine.Client.ImageHistory(ctx, has.ID)
		if err != nil {
			return nil, fmt.Errorf("cannot use image %q: its history: %w", has.ID, err)
		}
		c.History = historyOf(history, len(c.RootFS.DiffIDs))
	}
	set := &savedLayers{ctx: ctx, engine: s.Engine, id: has.ID, folder: s.Temp, diffs: c.RootFS.DiffIDs}
	return &Image{
		Config: c, Media: types.OCIManifestSchema1, Layers: sync.OnceValues(set.all),
		File:  func(ctx context.Context, name string) (io.Reader, error) { return s.file(ctx, has.ID, name) },
		Lacks: func(ctx context.Context, paths []string) ([]string, error) { return s.lacks(ctx, has.ID, paths) },
	}, nil
}

// historyOf returns an image's history, oldest first. An engine does not say
// which steps made no layer; where their sizes do not say it either, there is
// no history.
func historyOf(items []image.HistoryResponseItem, layers int) []v1.History {
	var history []v1.History
	for i := len(items) - 1; i >= 0; i-- {
		h := v1.History{
			Created: v1.Time{Time: time.Unix(items[i].Created, 0).UTC()}, CreatedBy: items[i].CreatedBy,
			Comment: items[i].Comment, EmptyLayer: items[i].Size == 0,
		}
		if !h.EmptyLayer {
			layers--
		}
		history = append(history, h)
	}
	if layers != 0 {
		return nil
	}
	return history
}

// file reads a file of an image.
func (s *Engine) file(ctx context.Context, id, name string) (r io.Reader, err error) {
	err = s.unstarted(ctx, id, func(container string) error {
		stream, _, err := s.Engine.Client.CopyFromContainer(ctx, container, "/"+name)
		if errdefs.IsNotFound(err) {
			return fs.ErrNotExist
		}
		if err != nil {
			return err
		}
		defer stream.Close()
		tr := tar.NewReader(stream)
		h, err := tr.Next()
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			return errors.New("it is not a regular file")
		}
		data, err := io.ReadAll(io.LimitReader(tr, layer.MaxFile))
		r = bytes.NewReader(data)
		return err
	})
	return r, err
}

// lacks searches for paths in an image. A path counts as existing if its existence cannot be
// determined.
func (s *Engine) lacks(ctx context.Context, id string, paths []string) (missing []string, err error) {
	err = s.unstarted(ctx, id, func(container string) error {
		for _, name := range paths {
			if _, err := s.Engine.Client.ContainerStatPath(ctx, container, name); errdefs.IsNotFound(err) {
				missing = append(missing, name)
			}
		}
		return ctx.Err()
	})
	return missing, err
}

// unstarted has use look into a container of an image that is never started.
func (s *Engine) unstarted(ctx context.Context, id string, use func(container string) error) (err error) {
	last, cancel := docker.Lasting(ctx)
	defer cancel()
	created, err := s.Engine.Client.ContainerCreate(last, &container.Config{Image: id, Entrypoint: []string{"none"}}, nil, nil, nil, "")
	if err != nil {
		return err
	}
	defer func() {
		if e := s.Engine.Client.ContainerRemove(last, created.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}); err == nil && e != nil {
			err = fmt.Errorf("cannot remove the container %s, which was created to read a file: %w", created.ID, e)
		}
	}()
	return use(created.ID)
}
