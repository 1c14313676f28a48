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

// imageInfo holds the properties of an image that manifests need.
type imageInfo struct {
	pinned string // immutable name; the plan's name if none is known
	user   string // the user that it runs as; empty: unknown
	uid    string // the numeric ID of that user; empty: unknown
}

// Pinned returns an immutable name of an image that Build has built or found: a unique tag for a
// built image, a digest for another image, or ref if neither is known. user is the user that the
// image runs as, or empty if it is unknown.
func (b *Builder) Pinned(ref string) (name, user string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if info, ok := b.infos[ref]; ok {
		return info.pinned, info.user
	}
	return ref, ""
}

// UserID returns the numeric ID of the user that a built image runs as, or "" if it is unknown.
func (b *Builder) UserID(ref string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.infos[ref].uid
}

// setInfo stores what manifests need to know about an image, and reports its pinned name.
func (b *Builder) setInfo(ref string, info imageInfo) {
	b.mu.Lock()
	if b.infos == nil {
		b.infos = map[string]imageInfo{}
	}
	b.infos[ref] = info
	b.mu.Unlock()
	if info.pinned != ref {
		b.log.Send(event.Event{Image: ref, State: event.Pinned, Pinned: info.pinned})
	}
}

const (
	maxTagLength = 128 // OCI distribution-spec, "Pulling manifests"
	digestLength = 12  // hexadecimal digits of a digest in a tag; enough for all images of a repository
)

// contentTag adds the digest of the image's content to a reference's tag.
func contentTag(ref, digest string) string {
	repository, tag := ref, "latest"
	if at := strings.LastIndex(ref, ":"); at > strings.LastIndex(ref, "/") {
		repository, tag = ref[:at], ref[at+1:]
	}
	return repository + ":" + tag[:min(len(tag), maxTagLength-1-digestLength)] + "-" + digest[:digestLength]
}

// infoOf describes an image for several platforms, in any order. Its tag depends only on the
// image's content, not on where, when and by whom it was built.
func infoOf(ref string, images []*sink.Image) (imageInfo, error) {
	var contents []string
	user := ""
	for _, m := range images {
		c, err := m.ConfigFile()
		if err != nil {
			return imageInfo{}, err
		}
		content, err := contentOf(c)
		if err != nil {
			return imageInfo{}, fmt.Errorf("cannot encode the configuration of image %q: %w", ref, err)
		}
		contents, user = append(contents, content), c.Config.User
	}
	slices.Sort(contents)
	return imageInfo{pinned: contentTag(ref, digestOf([]byte(strings.Join(contents, "\n")))), user: user}, nil
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
