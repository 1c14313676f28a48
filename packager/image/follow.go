package image

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
	"golang.org/x/sync/errgroup"

	"github.com/toskose/toskose/packager"
)

// message is a line of the engine's streams.
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

// follow reads a stream to its end and gives the error it tells of.
func (b *Builder) follow(stream io.Reader) error { return b.followTo(stream, func(message) {}) }

// followTo gives each of its messages, too.
func (b *Builder) followTo(stream io.Reader, each func(message)) error {
	dec := json.NewDecoder(stream)
	for {
		var m message
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("the engine's answer broke off: %w", err)
		}
		if m.Error != "" {
			return errors.New(strings.TrimSpace(m.Error))
		}
		each(m)
		switch {
		case strings.TrimSpace(m.Stream) != "":
			b.debugf("%s", m.Stream)
		case m.Progress.Total == 0 && m.Status != "" && m.Status != "Downloading" && m.Status != "Extracting" && m.Status != "Pushing":
			b.debugf("%s %s\n", m.Status, m.ID)
		}
	}
}

// transfer follows the layers of a pull or a push, and says how far they are.
func (b *Builder) transfer(stream io.Reader, name, state string) error {
	layers := map[string]message{}
	quarters := percentage{}
	return b.followTo(stream, func(m message) {
		if m.Progress.Total == 0 || m.Status == "Extracting" {
			return
		}
		layers[m.ID] = m
		e := Event{Image: name, State: state}
		for _, l := range layers {
			e.Done, e.Total = e.Done+min(l.Progress.Current, l.Progress.Total), e.Total+l.Progress.Total
		}
		b.transferred(e, &quarters)
	})
}

// transferred tells how far a transfer is, people at each quarter.
func (b *Builder) transferred(e Event, quarters *percentage) {
	if at, ok := quarters.next(e.Done, e.Total); ok {
		b.tell(e, "%s, %d%% of %s", e.State, at, Bytes(e.Total))
		return
	}
	b.moved(e)
}

func (b *Builder) pull(ctx context.Context, ref string, platform v1.Platform) error {
	auth, err := b.credentials(ctx, ref)
	if err != nil {
		return err
	}
	b.tell(Event{Image: ref, State: StatePulling}, "pulling")
	opts := image.PullOptions{RegistryAuth: auth}
	if len(b.opts.Platforms) > 0 {
		opts.Platform = platform.String()
	}
	stream, err := b.engine.ImagePull(ctx, ref, opts)
	if err != nil {
		return err
	}
	defer stream.Close()
	return b.transfer(stream, ref, StatePulling)
}

// pushAll pushes what the engine has.
func (b *Builder) pushAll(ctx context.Context, images []packager.Image) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, i := range images {
		group.Go(func() error {
			if err := b.push(ctx, i.Name); err != nil {
				return fmt.Errorf("cannot push image %q: %w; its registry and name come from docker.name in toskose.yml", i.Name, loginHint(i.Name, err))
			}
			return nil
		})
	}
	return group.Wait()
}

// pushes is how often a push is tried.
const pushes = 3

// push pushes an image, and tries it again unless the registry has refused it.
func (b *Builder) push(ctx context.Context, name string) error {
	auth, err := b.credentials(ctx, name)
	if err != nil {
		return err
	}
	wait := b.opts.Retry
	for try := 1; ; try++ {
		b.tell(Event{Image: name, State: StatePushing}, "pushing")
		err := b.pushOnce(ctx, name, auth)
		if err == nil {
			b.tell(Event{Image: name, State: StatePushed}, "pushed")
			return nil
		}
		if try == pushes || refused(err) {
			return err
		}
		b.tell(Event{Image: name, State: StateRetrying}, "the push ended with: %v; trying again", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
			wait *= 3
		}
	}
}

func (b *Builder) pushOnce(ctx context.Context, name, auth string) error {
	stream, err := b.engine.ImagePush(ctx, name, image.PushOptions{RegistryAuth: auth})
	if err != nil {
		return err
	}
	defer stream.Close()
	return b.transfer(stream, name, StatePushing)
}

// refused tells whether trying again is in vain. An engine passes on what the
// registry said as text.
func refused(err error) bool {
	text := strings.ToLower(err.Error())
	for _, word := range []string{"denied", "unauthorized", "authentication required", "no basic auth", "forbidden", "does not exist", "no such host", "canceled"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// percentage says when a transfer has come a quarter further.
type percentage struct{ last int64 }

func (p *percentage) next(done, total int64) (percent int64, ok bool) {
	const least = 1 << 20 // what is smaller takes no time
	if total < least {
		return 0, false
	}
	at := done * 100 / total / 25 * 25
	if at <= p.last || at >= 100 {
		return 0, false
	}
	p.last = at
	return at, true
}

// Bytes writes a size for people.
func Bytes(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
