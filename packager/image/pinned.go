package image

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/sink"
)

// about holds the properties of an image used in manifests.
type about struct {
	name string // immutable name; otherwise the plan's
	user string // the user that it runs as; empty: not known
	uid  string // the number of that user; empty: that is not known
}

// Pinned returns an immutable name of an image that Build has made or found: a unique tag for a
// built image, a digest for others, or ref if neither is known. user is the user that the image
// runs as, or empty if it is not known.
func (b *Builder) Pinned(ref string) (name, user string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a, ok := b.about[ref]; ok {
		return a.name, a.user
	}
	return ref, ""
}

// UserID returns the number of the user that an image runs as which Build has made or
// described; empty: it is not known.
func (b *Builder) UserID(ref string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.about[ref].uid
}

// remember stores what manifests need to know about an image, and reports it.
func (b *Builder) remember(ref string, a about) {
	b.mu.Lock()
	if b.about == nil {
		b.about = map[string]about{}
	}
	b.about[ref] = a
	b.mu.Unlock()
	if a.name != ref {
		b.log.Send(event.Event{Image: ref, State: event.Pinned, Pinned: a.name})
	}
}

// The tag of an image's own is the user's with as much of a digest as keeps all that are
// ever built apart.
const (
	mostOfATag   = 128 // characters (OCI distribution-spec, "Pulling manifests")
	tagsOfInputs = 12
)

// ownTag adds the digest of the image's content to a reference's tag.
func ownTag(ref, digest string) string {
	repository, tag := ref, "latest"
	if at := strings.LastIndex(ref, ":"); at > strings.LastIndex(ref, "/") {
		repository, tag = ref[:at], ref[at+1:]
	}
	return repository + ":" + tag[:min(len(tag), mostOfATag-1-tagsOfInputs)] + "-" + digest[:tagsOfInputs]
}

// aboutAll describes an image for several platforms, in any order. Its tag depends only on the
// image's content, not on where, when and by whom it was built.
func aboutAll(ref string, images []*sink.Image) (about, error) {
	var contents []string
	user := ""
	for _, m := range images {
		c, err := m.ConfigFile()
		if err != nil {
			return about{}, err
		}
		content, err := contentOf(c)
		if err != nil {
			return about{}, fmt.Errorf("cannot encode the configuration of image %q: %w", ref, err)
		}
		contents, user = append(contents, content), c.Config.User
	}
	slices.Sort(contents)
	return about{name: ownTag(ref, digestOf([]byte(strings.Join(contents, "\n")))), user: user}, nil
}

func digestOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// contentOf returns a digest of an image for one platform: of its layers and of the configuration
// that an engine uses. All of these are known before the image is built.
func contentOf(c *v1.ConfigFile) (string, error) {
	layers := make([]string, len(c.RootFS.DiffIDs))
	for i, id := range c.RootFS.DiffIDs {
		layers[i] = id.String()
	}
	of := c.Config
	data, err := json.Marshal([]any{c.OS, c.Architecture, c.Variant, layers, v1.Config{
		User: of.User, Env: of.Env, Entrypoint: of.Entrypoint, Cmd: of.Cmd, Shell: of.Shell, WorkingDir: of.WorkingDir,
		ExposedPorts: of.ExposedPorts, Volumes: of.Volumes, Labels: of.Labels, StopSignal: of.StopSignal, Healthcheck: of.Healthcheck,
	}})
	return digestOf(data), err
}
