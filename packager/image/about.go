package image

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager/image/sink"
)

// About is what those who deploy an image want to know of it. Empty is what is
// not known.
type About struct {
	User    string // whom it runs as
	Content string // a digest of all that a container gets of it, whoever built it and when
}

// About describes an image: one that Build has made, or one that the engine has.
func (b *Builder) About(ctx context.Context, ref string) About {
	b.mu.Lock()
	about, ok := b.about[ref]
	b.mu.Unlock()
	if ok {
		return about
	}
	has, err := b.engine.Client.ImageInspect(ctx, ref)
	if err != nil || has.Config == nil {
		return About{}
	}
	c := has.Config
	return About{User: c.User, Content: contentOf(has.RootFS.Layers, v1.Config{
		User: c.User, Env: c.Env, Entrypoint: c.Entrypoint, Cmd: c.Cmd, WorkingDir: c.WorkingDir, Labels: c.Labels, StopSignal: c.StopSignal,
	})}
}

// remember keeps what is known of an image that goes where no engine can be
// asked for it.
func (b *Builder) remember(name string, about About) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.about == nil {
		b.about = map[string]About{}
	}
	b.about[name] = about
}

// aboutAll describes one image for several platforms.
func aboutAll(images []*sink.Image) (About, error) {
	var all About
	for i, m := range images {
		c, err := m.ConfigFile()
		if err != nil {
			return About{}, err
		}
		about := aboutOf(c)
		if i > 0 {
			about = About{User: all.User, Content: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(all.Content+about.Content)))}
		}
		all = about
	}
	return all, nil
}

// aboutOf describes an image by its configuration.
func aboutOf(c *v1.ConfigFile) About {
	layers := make([]string, len(c.RootFS.DiffIDs))
	for i, id := range c.RootFS.DiffIDs {
		layers[i] = id.String()
	}
	return About{User: c.Config.User, Content: contentOf(layers, c.Config)}
}

func contentOf(layers []string, c v1.Config) string {
	lists := [][]string{layers, c.Env, c.Entrypoint, c.Cmd, {c.User, c.WorkingDir, c.StopSignal}}
	for i, list := range lists {
		lists[i] = append([]string{}, list...) // none and empty are the same
	}
	labels := c.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	data, err := json.Marshal([]any{lists, labels})
	if err != nil { // there are no strings that it cannot encode
		return ""
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data))
}
