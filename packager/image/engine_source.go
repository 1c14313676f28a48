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
	"sync"
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
	folder *temp
	past   bool // whether the history of images is wanted, which costs a question
	pull   func(ctx context.Context, ref string, platform v1.Platform) error

	ahead map[string]func() (image.InspectResponse, error) // what was asked by look
}

// look asks for images before it is known for which platform they are wanted.
// wait has to be called at the end.
func (s *engineSource) look(ctx context.Context, refs []string) (wait func()) {
	s.ahead = map[string]func() (image.InspectResponse, error){}
	for _, ref := range refs {
		if _, err := reference.ParseDockerRef(ref); err != nil {
			continue // find says it
		}
		s.ahead[ref] = sync.OnceValues(func() (image.InspectResponse, error) { return s.engine.ImageInspect(ctx, ref) })
	}
	var all sync.WaitGroup
	for _, ask := range s.ahead {
		all.Go(func() { _, _ = ask() }) // find says what is wrong
	}
	return all.Wait
}

// asked is the first answer to what look has asked, or a question.
func (s *engineSource) asked(ctx context.Context, ref string) (image.InspectResponse, error) {
	if ask := s.ahead[ref]; ask != nil {
		return ask()
	}
	return s.engine.ImageInspect(ctx, ref)
}

func (s *engineSource) find(ctx context.Context, ref string, platform v1.Platform) (*found, error) {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return nil, fmt.Errorf("%q is no image: %w", ref, err)
	}
	has, err := s.asked(ctx, ref)
	lacks, err := lacking(has, err, platform)
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
		has, err = s.engine.ImageInspect(ctx, ref)
		if lacks, err = lacking(has, err, platform); err != nil {
			return nil, fmt.Errorf("cannot look for image %q: %w", ref, err)
		}
	}
	if lacks != "" {
		return nil, fmt.Errorf("cannot get image %q: the engine has %s", ref, lacks)
	}
	return s.known(ctx, has)
}

// lacking tells from an engine's answer what it lacks of an image.
func lacking(has image.InspectResponse, err error, platform v1.Platform) (lacks string, _ error) {
	if errdefs.IsNotFound(err) {
		return "none", nil
	}
	if err == nil && has.Architecture != "" && has.Architecture != platform.Architecture {
		lacks = fmt.Sprintf("it for %s/%s, not for %s", has.Os, has.Architecture, platform)
	}
	return lacks, err
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
	if s.past {
		history, err := s.engine.ImageHistory(ctx, has.ID)
		if err != nil {
			return nil, fmt.Errorf("cannot use image %q: its history: %w", has.ID, err)
		}
		c.History = historyOf(history, len(c.RootFS.DiffIDs))
	}
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
