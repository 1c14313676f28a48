package image

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// About is what those who deploy an image want to know of it. Empty is what is
// not known.
type About struct {
	User    string // whom it runs as
	Content string // a digest of all that a container gets of it, whoever built it and when
}

// About tells of an image: one that Build has made, or one that the engine has.
func (b *Builder) About(ctx context.Context, ref string) About {
	b.mu.Lock()
	about, ok := b.about[ref]
	b.mu.Unlock()
	if ok {
		return about
	}
	found, err := b.engine.ImageInspect(ctx, ref)
	if err != nil || found.Config == nil {
		return About{}
	}
	c := found.Config
	return About{User: c.User, Content: contentOf(found.RootFS.Layers, v1.Config{
		User: c.User, Env: c.Env, Entrypoint: c.Entrypoint, Cmd: c.Cmd, WorkingDir: c.WorkingDir, Labels: c.Labels, StopSignal: c.StopSignal,
	})}
}

// remember keeps what is said of an image that goes where no engine can be asked for it.
func (b *Builder) remember(name string, about About) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.about == nil {
		b.about = map[string]About{}
	}
	b.about[name] = about
}

// aboutAll tells of one image for several platforms.
func aboutAll(images []*made) About {
	all := images[0].about
	for _, m := range images[1:] {
		all.Content = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(all.Content+m.about.Content)))
	}
	return all
}

// aboutOf tells of an image by its configuration.
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
