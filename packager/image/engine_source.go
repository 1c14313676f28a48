package image

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// engineSource finds images on an engine, which pulls them.
type engineSource struct {
	engine *client.Client
	policy string // PullAlways, PullMissing or PullNever
	folder string // for temporary files
	pull   func(ctx context.Context, ref string, platform v1.Platform) error
}

func (s *engineSource) find(ctx context.Context, ref string, platform v1.Platform) (*found, error) {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return nil, fmt.Errorf("%q is no image: %w", ref, err)
	}
	has, lacks, err := s.inspect(ctx, ref, platform)
	if err != nil {
		return nil, fmt.Errorf("cannot look for image %q: %w", ref, err)
	}
	if s.policy == PullAlways || lacks != "" && s.policy == PullMissing {
		if err := s.pull(ctx, named.String(), platform); err != nil {
			if lacks == "" {
				return nil, fmt.Errorf("cannot pull image %q: %w; --pull missing takes the one that the engine has", ref, err)
			}
			return nil, fmt.Errorf("cannot get image %q: the engine has %s, and the pull ended with: %w; "+
				"bring it there by docker pull, docker load or docker build", ref, lacks, err)
		}
		if has, lacks, err = s.inspect(ctx, ref, platform); err != nil {
			return nil, fmt.Errorf("cannot look for image %q: %w", ref, err)
		}
	}
	if lacks != "" {
		return nil, fmt.Errorf("cannot get image %q: the engine has %s", ref, lacks)
	}
	return s.known(ctx, has)
}

// inspect tells what an engine has of an image, and what it lacks.
func (s *engineSource) inspect(ctx context.Context, ref string, platform v1.Platform) (has image.InspectResponse, lacks string, err error) {
	has, err = s.engine.ImageInspect(ctx, ref)
	if errdefs.IsNotFound(err) {
		return has, "none", nil
	}
	if err == nil && has.Architecture != "" && has.Architecture != platform.Architecture {
		lacks = fmt.Sprintf("it for %s/%s, not for %s", has.Os, has.Architecture, platform)
	}
	return has, lacks, err
}

// known makes an image's configuration of what the engine says: the one that
// it keeps is got only together with all layers.
func (s *engineSource) known(ctx context.Context, has image.InspectResponse) (*found, error) {
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
	history, err := s.engine.ImageHistory(ctx, has.ID)
	if err != nil {
		return nil, fmt.Errorf("cannot use image %q: its history: %w", has.ID, err)
	}
	c.History = historyOf(history, len(c.RootFS.DiffIDs))
	set := newSavedLayers(ctx, s.engine, has.ID, s.folder, c.RootFS.DiffIDs)
	return &found{
		config: c, media: types.OCIManifestSchema1, layers: func() ([]v1.Layer, error) { return set.all(), nil },
		file: func(ctx context.Context, name string) (io.Reader, error) { return s.file(ctx, has.ID, name) },
	}, nil
}

// historyOf gives an image's history, oldest first. An engine does not say
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

// file reads a file of an image by a container that is never started.
func (s *engineSource) file(ctx context.Context, id, name string) (r io.Reader, err error) {
	last, cancel := lasting(ctx) // an engine makes what it was asked for, whether or not somebody waits
	defer cancel()
	made, err := s.engine.ContainerCreate(last, &container.Config{Image: id, Entrypoint: []string{"none"}}, nil, nil, nil, "")
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := s.engine.ContainerRemove(last, made.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}); err == nil && e != nil {
			err = fmt.Errorf("cannot remove the container %s, which was made to read a file: %w", made.ID, e)
		}
	}()
	stream, _, err := s.engine.CopyFromContainer(ctx, made.ID, "/"+name)
	if errdefs.IsNotFound(err) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	tr := tar.NewReader(stream)
	h, err := tr.Next()
	if err != nil {
		return nil, err
	}
	if h.Typeflag != tar.TypeReg {
		return nil, errors.New("it is no regular file")
	}
	data, err := io.ReadAll(io.LimitReader(tr, maxFile))
	return bytes.NewReader(data), err
}
