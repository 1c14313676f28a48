package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/client"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager/image/event"
)

// maxBuilds is the number of attempts to build an image while another client removes its layers.
const maxBuilds = 4

// BuildRequest is an image to build with the classic builder, which every engine has.
type BuildRequest struct {
	Name     string
	Platform v1.Platform
	Options  build.ImageBuildOptions
	Bases    []string // names of the images that the Dockerfile builds on

	Bytes        int64 // approximate size of the context
	WriteContext func(context.Context, io.Writer) error
	Output       func(text string) // called with the builder's output
}

// Build builds an image, and tags it last, so that an interrupted build that continues in the engine does not move the
// tag. Undo removes the images of its steps.
func (e *Engine) Build(ctx context.Context, r BuildRequest) error {
	r.Options.Version, r.Options.Remove, r.Options.ForceRemove, r.Options.Platform = build.BuilderV1, true, true, e.platform(r.Platform)
	if err := e.beginSteps(ctx, r.Bases); err != nil {
		return fmt.Errorf("cannot list the engine's images: %w", err)
	}
	for left := maxBuilds - 1; ; left-- {
		id, err := e.build(ctx, r)
		if err == nil {
			err = e.Tag(ctx, id, r.Name)
		}
		if err == nil || left == 0 || ctx.Err() != nil || !isMissingLayer(err) {
			return err
		}
		e.Log.Debugf("image %s is built again, because one of its layers was removed meanwhile: %v\n", r.Name, err)
	}
}

// isMissingLayer reports whether a build failed because an unnamed image was missing: the engine
// continues from an image of an earlier build, which another client may remove meanwhile.
func isMissingLayer(err error) bool {
	said := strings.ToLower(err.Error())
	return strings.Contains(said, "sha256:") && slices.ContainsFunc([]string{"no such image", "unable to find image", "failed to get digest"},
		func(what string) bool { return strings.Contains(said, what) })
}

// build makes one attempt to build an image, and returns its ID.
func (e *Engine) build(ctx context.Context, r BuildRequest) (id string, err error) {
	out := e.send(ctx, event.Event{Image: r.Name, Total: r.Bytes}, r.WriteContext)
	answer, err := e.Client.ImageBuild(ctx, out, r.Options)
	if err == nil {
		err = e.follow(answer.Body, func(m message) {
			if m.Aux.ID != "" {
				id = m.Aux.ID
			}
			step, of := stepOf(m.Stream)
			if step > 0 {
				e.Log.Send(event.Event{Image: r.Name, State: event.Building, Step: step, Steps: of})
			}
			e.recordStep(m.Stream)
			r.Output(m.Stream)
		})
		answer.Body.Close()
	}
	if writeErr := out.end(); writeErr != nil {
		return "", writeErr
	}
	if err == nil && id == "" {
		err = errors.New("the engine does not report the ID of the built image")
	}
	return id, err
}

// stepOf parses the line that the engine prints at the start of a Dockerfile step.
func stepOf(text string) (step, of int) {
	if n, _ := fmt.Sscanf(text, "Step %d/%d", &step, &of); n < 2 { // not the start of a step
		return 0, 0
	}
	return step, of
}

// Load loads an image from an archive while write writes it, and returns the image's id in the
// engine: id, unless the engine reports another. Once the engine has received all of the archive,
// it completes the load even if the client disconnects. Therefore an interruption stops the
// transfer, or waits for the answer once the transfer is complete.
func (e *Engine) Load(ctx context.Context, name, id string, write func(context.Context, io.Writer) error) (string, error) {
	out := e.send(ctx, event.Event{Image: name}, write)
	last, cancel := WithCleanup(ctx)
	defer cancel()
	// CloseWithError never fails, and has no effect once all was written.
	defer context.AfterFunc(ctx, func() { _ = out.writer.CloseWithError(ctx.Err()) })()
	answer, err := e.Client.ImageLoad(last, out, client.ImageLoadWithQuiet(true))
	if err == nil {
		err = e.follow(answer.Body, func(m message) {
			if other, ok := strings.CutPrefix(m.Stream, "Loaded image ID: "); ok {
				id = strings.TrimSpace(other)
			}
		})
		answer.Body.Close()
	}
	if writeErr := out.end(); writeErr != nil {
		return "", writeErr
	}
	if err == nil && ctx.Err() != nil {
		e.Discard(ctx, id)
		err = ctx.Err()
	}
	return id, err
}

// upload is a stream that one goroutine writes and the engine reads.
type upload struct {
	*io.PipeReader
	writer  *io.PipeWriter
	written chan error
}

// send starts to write the stream that an engine reads. The caller must call end.
func (e *Engine) send(ctx context.Context, what event.Event, write func(context.Context, io.Writer) error) *upload {
	what.State = event.Sending
	u := &upload{written: make(chan error, 1)}
	u.PipeReader, u.writer = io.Pipe()
	go func() {
		err := write(ctx, e.Log.Writer(u.writer, what))
		_ = u.writer.CloseWithError(err) // never fails, by its documentation
		u.written <- err
	}()
	return u
}

// end stops the writer if the engine stopped reading, and returns the writer's error: the engine's
// error is a consequence of it.
func (u *upload) end() error {
	_ = u.Close() // never fails, by its documentation
	if err := <-u.written; !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	return nil
}
