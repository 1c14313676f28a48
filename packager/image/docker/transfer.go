package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/docker/docker/api/types/image"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager/image/event"
)

// message is an element of the engine's JSON streams.
type message struct {
	Stream   string `json:"stream"`
	Status   string `json:"status"`
	ID       string `json:"id"`
	Progress struct {
		Current int64 `json:"current"`
		Total   int64 `json:"total"`
	} `json:"progressDetail"`
	Aux struct {
		ID string `json:"ID"` // of the image that was built
	} `json:"aux"`
	Error string `json:"error"`
}

// follow reads a stream to its end and calls each with its messages. It returns the error that the
// stream reports.
func (e *Engine) follow(stream io.Reader, each func(message)) error {
	dec := json.NewDecoder(stream)
	for {
		var m message
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("the engine's response is incomplete: %w", err)
		}
		if m.Error != "" {
			return errors.New(strings.TrimSpace(m.Error))
		}
		each(m)
		switch {
		case strings.TrimSpace(m.Stream) != "":
			e.Log.Debugf("%s", m.Stream)
		case m.Progress.Total == 0 && m.Status != "" && m.Status != "Downloading" && m.Status != "Extracting" && m.Status != "Pushing":
			e.Log.Debugf("%s %s\n", m.Status, m.ID)
		}
	}
}

// transfer reports the progress of a pull or a push.
func (e *Engine) transfer(stream io.ReadCloser, name, state string) error {
	defer stream.Close()
	layers := map[string]message{}
	quarters := event.Quarters{}
	return e.follow(stream, func(m message) {
		if m.Progress.Total == 0 || m.Status == "Extracting" {
			return
		}
		layers[m.ID] = m
		moved := event.Event{Image: name, State: state}
		for _, l := range layers {
			moved.Done, moved.Total = moved.Done+min(l.Progress.Current, l.Progress.Total), moved.Total+l.Progress.Total
		}
		e.Log.Transferred(moved, &quarters)
	})
}

// Pull pulls an image.
func (e *Engine) Pull(ctx context.Context, ref string, platform v1.Platform) error {
	auth, err := e.credentials(ctx, ref)
	if err != nil {
		return err
	}
	e.Log.Line(event.Event{Image: ref, State: event.Pulling}, "pulling")
	stream, err := e.Client.ImagePull(ctx, ref, image.PullOptions{RegistryAuth: auth, Platform: e.platform(platform)})
	if err != nil {
		return err
	}
	return e.transfer(stream, ref, event.Pulling)
}

// Digest returns a registry's digest of an image, queried by the engine.
func (e *Engine) Digest(ctx context.Context, ref string) (string, error) {
	auth, err := e.credentials(ctx, ref)
	if err != nil {
		return "", err
	}
	found, err := e.Client.DistributionInspect(ctx, ref, auth)
	if err != nil {
		return "", fmt.Errorf("its registry does not say by what digest it has it: %w", err)
	}
	return found.Descriptor.Digest.String(), nil
}

// MaxPushes is the number of attempts to push an image.
const MaxPushes = 3

// Push pushes an image, and retries unless the registry refuses it.
func (e *Engine) Push(ctx context.Context, name string) error {
	err := e.push(ctx, name)
	if err != nil {
		return fmt.Errorf("cannot push image %q: %w; its registry and name come from docker.name in toskose.yml", name, loginHint(name, err))
	}
	e.Log.Line(event.Event{Image: name, State: event.Pushed}, "pushed")
	return nil
}

func (e *Engine) push(ctx context.Context, name string) error {
	auth, err := e.credentials(ctx, name)
	if err != nil {
		return err
	}
	wait := e.Retry
	for try := 1; ; try++ {
		e.Log.Line(event.Event{Image: name, State: event.Pushing}, "pushing")
		stream, err := e.Client.ImagePush(ctx, name, image.PushOptions{RegistryAuth: auth})
		if err == nil {
			err = e.transfer(stream, name, event.Pushing)
		}
		if err == nil || try == MaxPushes || isRefusal(err) {
			return err
		}
		e.Log.Line(event.Event{Image: name, State: event.Retrying}, "the push failed: %v; trying again", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
			wait *= 3
		}
	}
}

// isRefusal reports whether an error of a push is permanent. An engine returns a registry's error as
// text only.
func isRefusal(err error) bool {
	text := strings.ToLower(err.Error())
	for _, word := range []string{"denied", "unauthorized", "authentication required", "no basic auth", "forbidden", "does not exist", "no such host", "canceled"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
