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
	History bool // also read the history of images, which takes another request

	inspected Cache[image.InspectResponse] // by reference
}

// Prefetch inspects images before the platform is known. The caller must call wait at the end.
func (s *Engine) Prefetch(ctx context.Context, refs []string) (wait func()) {
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
	return s.inspected.Get(ref, func() (image.InspectResponse, error) { return s.Engine.Client.ImageInspect(ctx, ref) })
}

// Find implements Source.
func (s *Engine) Find(ctx context.Context, ref string, platform v1.Platform) (*Image, error) {
	parsed, err := reference.ParseDockerRef(ref)
	if err != nil {
		return nil, fmt.Errorf("%q is not an image: %w", ref, err)
	}
	found, err := s.inspect(ctx, ref)
	why, err := mismatch(found, err, platform)
	if err != nil {
		return nil, fmt.Errorf("cannot look for image %q: %w", ref, err)
	}
	if s.Pull == PullAlways || why != "" && s.Pull == PullMissing {
		if err := s.Engine.Pull(ctx, parsed.String(), platform); err != nil {
			if why == "" {
				return nil, fmt.Errorf("cannot pull image %q: %w; --pull missing takes the one that the engine has", ref, err)
			}
			return nil, fmt.Errorf("cannot get image %q: the engine has %s, and the pull failed: %w; "+
				"add it by docker pull, docker load or docker build", ref, why, err)
		}
		found, err = s.Engine.Client.ImageInspect(ctx, ref)
		if why, err = mismatch(found, err, platform); err != nil {
			return nil, fmt.Errorf("cannot look for image %q: %w", ref, err)
		}
	}
	if why != "" {
		return nil, fmt.Errorf("cannot get image %q: the engine has %s", ref, why)
	}
	return s.image(ctx, found)
}

// Resolve implements Source. If the engine has the image and does not pull a newer one, Resolve
// returns the digest by which the image was pulled.
func (s *Engine) Resolve(ctx context.Context, ref string) (known Resolved, err error) {
	named, digest, err := digestIn(ref)
	if err != nil {
		return known, err
	}
	found, err := s.inspect(ctx, ref)
	if err != nil && !errdefs.IsNotFound(err) {
		return known, err
	}
	exists := err == nil
	if exists && found.Config != nil {
		known.User = found.Config.User
	}
	switch {
	case digest != "":
		known.Digest = digest
		return known, nil
	case exists && s.Pull != PullAlways:
		return s.pulled(ctx, named, found, known)
	case s.Pull == PullNever:
		return known, errors.New("the engine has none and does not pull (--pull never)")
	}
	known.Digest, err = s.Engine.Digest(ctx, named.String())
	return known, err
}

// pulled sets the digest by which an image was pulled. An engine with containerd's store also
// assigns a digest to an image that it built; in that case the registry must have the digest.
func (s *Engine) pulled(ctx context.Context, named reference.Named, found image.InspectResponse, known Resolved) (Resolved, error) {
	for _, text := range found.RepoDigests {
		pulled, digest, err := digestIn(text)
		if err != nil || pulled.Name() != named.Name() {
			continue
		}
		if found.Descriptor != nil {
			if _, err := s.Engine.Digest(ctx, pulled.String()); err != nil {
				return known, fmt.Errorf("the engine has one that its registry does not report: %w", err)
			}
		}
		known.Digest = digest
		return known, nil
	}
	return known, errors.New("the engine has one that came from no registry")
}

// mismatch describes why an engine's response is not an image for the platform. It returns "" if it
// is one.
func mismatch(found image.InspectResponse, err error, platform v1.Platform) (why string, _ error) {
	if errdefs.IsNotFound(err) {
		return "none", nil
	}
	if err == nil && found.Architecture != "" && found.Architecture != platform.Architecture {
		why = fmt.Sprintf("it for %s/%s, not for %s", found.Os, found.Architecture, platform)
	}
	return why, err
}

// image builds an image configuration from the engine's response: the engine exports the original
// one only together with all layers.
func (s *Engine) image(ctx context.Context, found image.InspectResponse) (*Image, error) {
	c := &v1.ConfigFile{Architecture: found.Architecture, OS: found.Os, Variant: found.Variant, OSVersion: found.OsVersion}
	c.RootFS.Type = "layers"
	for _, text := range found.RootFS.Layers {
		diffID, err := v1.NewHash(text)
		if err != nil {
			return nil, fmt.Errorf("cannot use image %q: %w", found.ID, err)
		}
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, diffID)
	}
	if found.Config != nil {
		data, err := json.Marshal(found.Config)
		if err == nil {
			err = json.Unmarshal(data, &c.Config)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot use image %q: its configuration: %w", found.ID, err)
		}
	}
	if s.History {
		history, err := s.Engine.Client.ImageHistory(ctx, found.ID)
		if err != nil {
			return nil, fmt.Errorf("cannot use image %q: its history: %w", found.ID, err)
		}
		c.History = historyOf(history, len(c.RootFS.DiffIDs))
	}
	set := &savedLayers{ctx: ctx, engine: s.Engine, id: found.ID, folder: s.Temp, diffs: c.RootFS.DiffIDs}
	return &Image{
		Config: c, Media: types.OCIManifestSchema1, Layers: sync.OnceValues(set.all),
		File:    func(ctx context.Context, name string) (io.Reader, error) { return s.file(ctx, found.ID, name) },
		Missing: func(ctx context.Context, paths []string) ([]string, error) { return s.missing(ctx, found.ID, paths) },
		withFiles: func(ctx context.Context, use func(Files) error) error {
			return s.withContainerFiles(ctx, found.ID, use)
		},
	}, nil
}

// historyOf returns an image's history, oldest first. An engine does not report which steps created
// no layer: historyOf assumes the steps without a size, and returns nil if that contradicts the number
// of layers.
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
	err = s.withContainer(ctx, id, func(container string) error {
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

// missing returns the paths that do not exist in an image. A path counts as existing if its existence
// cannot be determined.
func (s *Engine) missing(ctx context.Context, id string, paths []string) (missing []string, err error) {
	err = s.withContainer(ctx, id, func(container string) error {
		for _, name := range paths {
			if _, err := s.Engine.Client.ContainerStatPath(ctx, container, name); errdefs.IsNotFound(err) {
				missing = append(missing, name)
			}
		}
		return ctx.Err()
	})
	return missing, err
}

// withContainer calls use with a container of an image that is never started.
func (s *Engine) withContainer(ctx context.Context, id string, use func(container string) error) (err error) {
	last, cancel := docker.WithCleanup(ctx)
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
