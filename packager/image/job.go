package image

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/toskose/toskose/packager"
)

// layerNames are the layers that images get, the first only where a binary of
// Toskose's own is put in; layerTexts says what they hold.
var (
	layerNames = []string{"toskose", "application"}
	layerTexts = []string{"Toskose", "the application"}
)

// job is an image for one platform, with all that it is made of.
type job struct {
	image    packager.Image
	platform v1.Platform
	base     base
	entry    []string // entry point; empty: the base's
	user     string   // empty: the base's
	trees    []tree   // a layer each, as in layerNames
	shared   string   // tells which jobs have their first tree in common; empty: none has
	given    *given   // what the base is built from; nil: it is there
}

// app is the application's name.
func (j *job) app() string { return j.image.Labels[packager.LabelApp] }

// managerUser runs the manager, where its image is made here.
const managerUser = "65532:65532"

// prepare finds all that is built upon, each once, at the same time. The
// context is not the group's, which ends with it: layers are read later.
func (b *Builder) prepare(ctx context.Context, plan *packager.Plan, archive fs.FS, platforms []v1.Platform) ([]*job, error) {
	bases := newFinder(b)
	jobs := make([]*job, len(plan.Images)*len(platforms))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, image := range plan.Images {
		for k, platform := range platforms {
			group.Go(func() (err error) {
				jobs[i*len(platforms)+k], err = b.job(ctx, bases, image, archive, platform, len(platforms))
				return err
			})
		}
	}
	return jobs, group.Wait()
}

func (b *Builder) job(ctx context.Context, bases *finder, image packager.Image, archive fs.FS, platform v1.Platform, platforms int) (*job, error) {
	j := &job{image: image, platform: platform, entry: image.Entry}
	var own tree
	var err error
	ref := image.Base
	switch {
	case image.Unit:
		own, err = bases.own(ctx, unitBinary, b.opts.UnitImage, platform)
	case ref == "" && b.opts.ManagerImage != "":
		ref = b.opts.ManagerImage
	case ref == "":
		ref, j.user, j.entry = scratch, managerUser, []string{managerBinary.path}
		own, err = bases.own(ctx, managerBinary, "", platform)
	}
	if err != nil {
		return nil, err
	}
	if image.Dockerfile != "" {
		err = b.prebuild(ctx, bases, j, archive, platforms)
	} else {
		j.base, err = bases.base(ctx, ref, image.Node, platform)
	}
	if err != nil || image.Alone() {
		return j, err
	}
	if own != nil {
		j.trees = append(j.trees, own)
		j.shared = platform.String() + " " + own[len(own)-1].name
	}
	files, err := j.files(archive)
	if err != nil {
		return nil, fmt.Errorf("image %q: %w", image.Name, err)
	}
	j.trees = append(j.trees, files)
	return j, nil
}

// into is below what all files of images are, so that nothing of a base
// changes.
const into = "/toskose/"

// files is the tree with the files of the plan.
func (j *job) files(archive fs.FS) (tree, error) {
	var entries []entry
	for _, f := range j.image.Files {
		if !strings.HasPrefix(f.Path, into) {
			return nil, fmt.Errorf("file %q is not below %s", f.Path, into)
		}
		e := bytesEntry(strings.TrimPrefix(f.Path, "/"), int64(f.Mode), f.Data)
		if f.Dir {
			e.dir, e.open = true, nil
		}
		if f.Owned {
			e.uid = j.base.uid
		}
		if f.Source != "" {
			info, err := fs.Stat(archive, f.Source)
			if err != nil {
				return nil, err
			}
			e.size, e.open = info.Size(), func() (io.ReadCloser, error) { return archive.Open(f.Source) }
		}
		entries = append(entries, e)
	}
	if script := baseCommand(j.base.config.Config); j.image.Unit && script != nil {
		entries = append(entries, bytesEntry(strings.TrimPrefix(packager.BaseCommandPath, "/"), 0o755, script))
	}
	for i := range entries {
		entries[i].name = path.Clean(entries[i].name)
	}
	return newTree(entries), nil
}
