package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/image"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/templates"
)

// dockerAll builds images at the same time. Those of one base have their first
// steps in common, which the engine does once if one of them goes ahead.
func (b *Builder) dockerAll(ctx context.Context, jobs []*job) error {
	return inTurns(ctx, jobs, func(j *job) string { return j.base.ref + " " + j.shared }, b.dockerOne)
}

// dockerOne builds an image. On scratch the classic builder knows no platform
// but the engine's, so for another one the image is made here.
func (b *Builder) dockerOne(ctx context.Context, j *job, passed func()) error {
	if j.image.Alone() {
		return nil // it is built
	}
	if j.base.ref == scratch && len(b.opts.Platforms) > 0 {
		return b.direct(ctx, b.loads(), []*job{j}, b.sharedLayers(ctx, []*job{j}))
	}
	return b.docker(ctx, j, passed)
}

func (b *Builder) docker(ctx context.Context, j *job, passed func()) error {
	began, name := time.Now(), j.image.Name
	before := b.idOf(ctx, name)
	if err := b.run(ctx, j, passed); err != nil {
		return fmt.Errorf("cannot build image %q: %w", name, err)
	}
	if before == b.idOf(ctx, name) {
		b.tell(Event{Image: name, State: StateUnchanged, Base: j.base.ref}, "unchanged, on %s", j.base.ref)
		return nil
	}
	b.sayBuilt([]*job{j}, time.Since(began))
	b.removeReplaced(ctx, before, packager.LabelApp, j.app())
	return nil
}

// run builds by the engine's classic builder, which every engine has.
// passed is called when it has done what images of one base have in common.
func (b *Builder) run(ctx context.Context, j *job, passed func()) error {
	opts := build.ImageBuildOptions{Version: build.BuilderV1, Remove: true, ForceRemove: true}
	if len(b.opts.Platforms) > 0 {
		opts.Platform = j.platform.String()
	}
	text, err := j.dockerfile()
	if err != nil {
		return err
	}
	common := j.commonSteps(string(text))
	return b.buildOnEngine(ctx, j.image.Name, opts, j.contents(), j.writeContext, func(m message) {
		if b.steps(j.image.Name, m) > common {
			passed()
		}
	})
}

// commonSteps is how many steps of a Dockerfile are those of all images on its
// base: down to the binary.
func (j *job) commonSteps(dockerfile string) int {
	before, _, ok := strings.Cut(dockerfile, "\nADD "+j.archiveName(0)+" ")
	if !ok || len(j.trees) < len(layerNames) {
		return 0
	}
	return strings.Count(before, "\n") + 2
}

// buildOnEngine has the engine build an image from a context, of about total
// bytes, as it is written. What it says goes to each. The image gets its name
// last, so that an engine which builds on after an interruption moves no name.
func (b *Builder) buildOnEngine(ctx context.Context, name string, opts build.ImageBuildOptions, total int64, writeContext func(context.Context, io.Writer) error, each func(message)) error {
	reader, writer := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := writeContext(ctx, b.watched(writer, Event{Image: name, State: StateSending, Total: total}))
		_ = writer.CloseWithError(err) // never fails, by its documentation
		written <- err
	}()
	id := ""
	answer, err := b.engine.ImageBuild(ctx, reader, opts)
	if err == nil {
		err = b.followTo(answer.Body, func(m message) {
			if m.Aux.ID != "" {
				id = m.Aux.ID
			}
			each(m)
		})
		answer.Body.Close()
	}
	_ = reader.Close() // ends the writer where the engine read no further; never fails
	if writeErr := <-written; writeErr != nil && !errors.Is(writeErr, io.ErrClosedPipe) {
		return writeErr // a file of the archive; what the engine says follows from it
	}
	if err == nil && id == "" {
		err = errors.New("the engine does not say what it has built")
	}
	if err != nil {
		return err
	}
	return tag(ctx, b.engine, id, name)
}

// idOf gives the id of an image that the engine has, otherwise nothing.
func (b *Builder) idOf(ctx context.Context, ref string) string {
	found, err := b.engine.ImageInspect(ctx, ref)
	if err != nil {
		return ""
	}
	return found.ID
}

// removeReplaced removes the image that had the name before, so that building
// again and again fills no disk. One that is in use, has another name or is
// another application's, if of any, stays: the engine, or its label, says so.
func (b *Builder) removeReplaced(ctx context.Context, id, label, value string) {
	if id == "" {
		return
	}
	old, err := b.engine.ImageInspect(ctx, id)
	if err != nil || old.Config == nil || len(old.RepoTags) > 0 || len(old.RepoDigests) > 0 {
		return
	}
	if got, ok := old.Config.Labels[label]; !ok || got != value {
		return
	}
	if _, err := b.engine.ImageRemove(ctx, id, image.RemoveOptions{PruneChildren: true}); err != nil {
		b.debugf("the replaced image %s stays: %v\n", id, err)
	}
}

// writeContext writes a build context as a tar: a Dockerfile, and an archive
// for each layer, which a builder unpacks with owners and times as they are.
func (j *job) writeContext(ctx context.Context, w io.Writer) error {
	tw := tar.NewWriter(w)
	text, err := j.dockerfile()
	if err != nil {
		return err
	}
	file := bytesEntry("Dockerfile", 0o644, text)
	if err := file.write(ctx, tw); err != nil {
		return err
	}
	for i, t := range j.trees {
		size, err := t.size()
		if err != nil {
			return err
		}
		if err := tw.WriteHeader(&tar.Header{Name: j.archiveName(i), Mode: 0o644, Size: size, ModTime: epoch}); err != nil {
			return err
		}
		if err := t.write(ctx, tw); err != nil {
			return err
		}
	}
	return tw.Close()
}

// archiveName is a layer's file in the build context.
func (j *job) archiveName(i int) string {
	return layerNames[len(layerNames)-len(j.trees)+i] + ".tar"
}

// dockerfile says of the base only what has to be different: each step takes
// the classic builder up to a second.
func (j *job) dockerfile() ([]byte, error) {
	health := j.image.Health
	if has := j.base.config.Config.Healthcheck; has != nil && slices.Equal(has.Test, append([]string{"CMD"}, health...)) {
		health = nil
	}
	start := false // a builder takes none for the base's own, so the shortest that there is
	if has := j.base.config.Config.Healthcheck; has != nil {
		start = has.StartPeriod > 0
	}
	own := ""
	if len(j.trees) == len(layerNames) {
		own = j.archiveName(0)
	}
	return templates.Render(templates.ToskosedImage, map[string]any{
		"Base": j.base.ref, "Signal": j.signal(), "Health": list(health), "Start": start, "Entry": list(j.entry), "User": j.user,
		"Own": own, "Files": j.archiveName(len(j.trees) - 1), "Env": pairs(j.image.Env), "Labels": pairs(j.labels()),
	})
}

// pairs writes ENV and LABEL pairs as one line's worth, so that the builder
// makes one step of them; none is no line.
func pairs(m map[string]string) []string {
	if len(m) == 0 {
		return nil
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, key+"="+quote(m[key]))
	}
	return []string{strings.Join(out, " ")}
}

var dockerfileQuote = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`)

// quote writes a value that a Dockerfile neither splits nor expands.
func quote(s string) string { return `"` + dockerfileQuote.Replace(s) + `"` }

// list writes words in the form that runs no shell; none is nothing.
func list(words []string) string {
	if len(words) == 0 {
		return ""
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w) // as JSON has it: these are paths and words of ours
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
