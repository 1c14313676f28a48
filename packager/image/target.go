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

// target describes how an image of a plan is built, on any platform.
type target struct {
	image       packager.Image
	archive     *dockerfile.Context // the Dockerfile of the base; nil: the base exists
	buildsBase  bool                // the engine builds that Dockerfile
	base        string              // reference of the base
	layered     bool                // layers are added to the base; otherwise the base is the image
	binary      *binary             // Toskose's binary in the first layer; nil: none
	binaryImage string              // the user's image that contains the binary; empty: none
	files       layer.Tree          // the application's files
	entry       []string            // entry point; empty: the base's
	user        string              // empty: the base's
	toEngine    bool                // the image is written to the engine
}

// targets returns the targets of a plan without contacting an engine or registry.
func (b *Builder) targets(plan *packager.Plan, archive fs.FS) ([]*target, error) {
	targets := make([]*target, len(plan.Images))
	for i, image := range plan.Images {
		var err error
		if targets[i], err = b.target(image, archive); err != nil {
			return nil, err
		}
	}
	return targets, nil
}

func (b *Builder) target(image packager.Image, archive fs.FS) (t *target, err error) {
	t = &target{image: image, base: image.Base, layered: !image.Alone(), entry: image.Entry}
	t.toEngine = b.opts.Output == Engine || b.opts.Contexts != ""
	switch {
	case image.Unit:
		t.binary, t.binaryImage = &unitBinary, b.opts.UnitImage
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
		t.buildsBase = b.opts.Contexts == "" || t.layered // for its configuration
	}
	if t.layered {
		t.files, err = recipe.Files(image, archive)
	}
	return t, err
}

// cannotBuild wraps the error of a build from the archive.
func (t *target) cannotBuild(err error) error {
	return fmt.Errorf("container %q: cannot build its image from %q: %w", t.image.Node, t.image.Dockerfile, err)
}

// existingBases returns the bases that are not built from the archive.
func existingBases(targets []*target) (refs []string) {
	for _, t := range targets {
		if t.archive == nil && t.base != source.ScratchRef {
			refs = append(refs, t.base)
		}
	}
	return refs
}

// DryRun prints the steps of Build without contacting an engine or registry.
func (b *Builder) DryRun(plan *packager.Plan, archive fs.FS) error {
	targets, err := b.targets(plan, archive)
	if err != nil {
		return err
	}
	platforms := ""
	if len(b.opts.Platforms) > 0 {
		platforms = " for " + strings.Join(b.opts.Platforms, ", ")
	}
	for _, t := range targets {
		if t.archive != nil {
			b.reportArchive(t, platforms)
		}
		if t.layered {
			b.reportLayers(t, platforms)
		}
		if !t.toEngine {
			b.reportStep(t.image.Name, "write %s to %s", t.image.Name, b.opts.Output.text())
		}
		if b.opts.Push {
			b.reportStep(t.image.Name, "push %s", t.image.Name)
		}
		b.reportPinned(t)
	}
	for _, ref := range unbuiltImages(plan) {
		if !strings.Contains(ref, "@") {
			b.reportStep(ref, "name %s in manifests by its digest, if %s knows one", ref, b.opts.Bases.text())
		}
	}
	return nil
}

// reportPinned prints the name that manifests would use for an image, if it can be predicted.
func (b *Builder) reportPinned(t *target) {
	name := t.image.Name
	if !t.layered && b.opts.Contexts != "" {
		b.reportStep(name, "name %s in manifests by that name alone: what will be built of it is not known", name)
		return
	}
	at := t.base
	if at == source.ScratchRef {
		at = "its binary"
	}
	b.reportStep(name, "name %s in manifests as %s: a digest of what is in it, not known before %s is there", name, contentTag(name, strings.Repeat("?", digestLength)), at)
}

// reportStep prints a step of a dry run.
func (b *Builder) reportStep(name, format string, args ...any) {
	b.log.Send(event.Event{Image: name, State: event.Planned, Text: "would " + fmt.Sprintf(format, args...)})
}

// reportArchive prints the steps that a Dockerfile of the archive would cause.
func (b *Builder) reportArchive(t *target, platforms string) {
	what, by := "build", ", by the engine"
	switch {
	case !t.buildsBase:
		what, by = "write a build context for", ""
	case b.opts.Contexts != "":
		what = "write a build context for, and build,"
	}
	on := ""
	if len(t.archive.Parents) > 0 {
		on = ", on " + strings.Join(t.archive.Parents, ", ")
	}
	tree := t.archive.Tree
	b.reportStep(t.base, "%s %s from %s%s%s%s: %d files, %s", what, t.base, t.image.Dockerfile, on, by, platforms, tree.Files(), event.Bytes(tree.Bytes()))
}

// reportLayers prints the layers that would be added to a base.
func (b *Builder) reportLayers(t *target, platforms string) {
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
	b.reportStep(t.image.Name, "%s %s on %s%s%s: %d files of the application, %s", what, t.image.Name, t.base, from, platforms, t.files.Files(), event.Bytes(t.files.Bytes()))
}
