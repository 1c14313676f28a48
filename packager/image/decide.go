package image

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/dockerfile"
	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/recipe"
	"github.com/toskose/toskose/packager/image/source"
)

// task describes how an image of a plan is made. Build executes it on each platform; a dry run
// prints it.
type task struct {
	image    packager.Image
	archive  *dockerfile.Context // the Dockerfile of the base; nil: the base exists
	prebuilt bool                // the engine builds that
	base     string              // its reference
	layers   bool                // layers are put on the base, otherwise it is the image itself
	binary   *ownBinary          // Toskose's, in the first layer; nil: none
	from     string              // the user's image that has the binary; empty: none
	files    layer.Tree          // the application's
	entry    []string            // entry point; empty: the base's
	user     string              // empty: the base's
	written  bool                // the image is not written to the engine
}

// decide returns the tasks for the images of a plan without contacting an engine or registry.
func (b *Builder) decide(plan *packager.Plan, archive fs.FS) ([]*task, error) {
	tasks := make([]*task, len(plan.Images))
	for i, image := range plan.Images {
		var err error
		if tasks[i], err = b.decideOne(image, archive); err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

func (b *Builder) decideOne(image packager.Image, archive fs.FS) (t *task, err error) {
	t = &task{image: image, base: image.Base, layers: !image.Alone(), entry: image.Entry}
	t.written = b.opts.Output != Engine && b.opts.Contexts == ""
	switch {
	case image.Unit:
		t.binary, t.from = &unitBinary, b.opts.UnitImage
	case t.base == "" && b.opts.ManagerImage != "":
		t.base = b.opts.ManagerImage
	case t.base == "":
		t.base, t.binary = source.ScratchRef, &managerBinary
		t.user, t.entry = managerBinary.user, []string{managerBinary.path}
	}
	if image.Dockerfile != "" {
		if t.archive, err = dockerfile.Read(archive, image.Dockerfile); err != nil {
			return nil, t.cannotBuild(err)
		}
		t.prebuilt = b.opts.Contexts == "" || t.layers // for its configuration
	}
	if t.layers {
		t.files, err = recipe.Files(image, archive)
	}
	return t, err
}

// cannotBuild wraps the error of a build from the archive.
func (t *task) cannotBuild(err error) error {
	return fmt.Errorf("container %q: cannot build its image from %q: %w", t.image.Node, t.image.Dockerfile, err)
}

// basesOf are the bases that have to be there.
func basesOf(tasks []*task) (refs []string) {
	for _, t := range tasks {
		if t.archive == nil && t.base != source.ScratchRef {
			refs = append(refs, t.base)
		}
	}
	return refs
}

// DryRun prints the steps of Build without contacting an engine or registry.
func (b *Builder) DryRun(plan *packager.Plan, archive fs.FS) error {
	tasks, err := b.decide(plan, archive)
	if err != nil {
		return err
	}
	platforms := ""
	if len(b.opts.Platforms) > 0 {
		platforms = " for " + strings.Join(b.opts.Platforms, ", ")
	}
	for _, t := range tasks {
		if t.archive != nil {
			b.sayArchive(t, platforms)
		}
		if t.layers {
			b.sayLayers(t, platforms)
		}
		if t.written {
			b.would(t.image.Name, "write %s to %s", t.image.Name, b.opts.Output.text())
		}
		if b.opts.Push {
			b.would(t.image.Name, "push %s", t.image.Name)
		}
		b.sayPinned(t)
	}
	for _, ref := range others(plan) {
		if !strings.Contains(ref, "@") {
			b.would(ref, "name %s in manifests by its digest, if %s knows one", ref, b.opts.Bases.text())
		}
	}
	return nil
}

// sayPinned prints the name that manifests would use for an image, if it can be predicted.
func (b *Builder) sayPinned(t *task) {
	name := t.image.Name
	if !t.layers && b.opts.Contexts != "" {
		b.would(name, "name %s in manifests by that name alone: what will be built of it is not known", name)
		return
	}
	at := t.base
	if at == source.ScratchRef {
		at = "its binary"
	}
	b.would(name, "name %s in manifests as %s: a digest of what is in it, not known before %s is there", name, ownTag(name, strings.Repeat("?", tagsOfInputs)), at)
}

// would prints a step of a dry run.
func (b *Builder) would(name, format string, args ...any) {
	b.log.Send(event.Event{Image: name, State: event.Planned, Text: "would " + fmt.Sprintf(format, args...)})
}

// sayArchive prints the steps that a Dockerfile of the archive would cause.
func (b *Builder) sayArchive(t *task, platforms string) {
	what, by := "build", ", by the engine"
	switch {
	case !t.prebuilt:
		what, by = "write a build context for", ""
	case b.opts.Contexts != "":
		what = "write a build context for, and build,"
	}
	on := ""
	if len(t.archive.Parents) > 0 {
		on = ", on " + strings.Join(t.archive.Parents, ", ")
	}
	tree := t.archive.Tree
	b.would(t.base, "%s %s from %s%s%s%s: %d files, %s", what, t.base, t.image.Dockerfile, on, by, platforms, tree.Files(), event.Bytes(tree.Bytes()))
}

// sayLayers prints the layers that would be added to a base.
func (b *Builder) sayLayers(t *task, platforms string) {
	from := ""
	if t.archive == nil && t.base != source.ScratchRef {
		from = b.opts.Bases.text()
		if b.opts.Bases == Engine {
			from += map[string]string{PullAlways: ", after a pull", PullMissing: ", pulled if missing", PullNever: ", never pulled"}[b.opts.Pull]
		}
		from = " (from " + from + ")"
	}
	what := "build"
	if b.opts.Contexts != "" {
		what = "write a build context for"
	}
	b.would(t.image.Name, "%s %s on %s%s%s: %d files of the application, %s", what, t.image.Name, t.base, from, platforms, t.files.Files(), event.Bytes(t.files.Bytes()))
}
