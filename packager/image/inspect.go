package image

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"
	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/toskose/toskose/packager/image/docker"
	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/source"
)

// Inspector reads images as they are, without pulling them.
type Inspector struct {
	Engine   *client.Client // nil: no engine is used
	Place    Place          // the zero Place: the engine and, for images that it does not have, their registries
	Keychain authn.Keychain // Docker's credentials; nil: none
}

// Contents describe an image. Files are valid until the function that received them returns.
type Contents struct {
	Architecture string
	User         string // empty: root
	Entrypoint   []string
	Command      []string
	Env          []string // NAME=VALUE
	Folder       string   // working directory; empty: /
	Ports        []int    // exposed TCP ports, sorted
	Labels       map[string]string
	Files        source.Files
}

// Architecture returns the architecture of the engine or, without one, of this machine.
func (i *Inspector) Architecture(ctx context.Context) (string, error) {
	if !i.usesEngine() {
		return runtime.GOARCH, nil
	}
	version, err := i.Engine.ServerVersion(ctx)
	if err != nil {
		return "", fmt.Errorf("cannot reach the Docker engine: %w; --images registry reads images in their registries", err)
	}
	return version.Arch, nil
}

func (i *Inspector) usesEngine() bool {
	return i.Engine != nil && (i.Place == Place{} || i.Place == Engine)
}

// OnEngine returns the first of several names that an image on the engine has, or "".
func (i *Inspector) OnEngine(ctx context.Context, refs ...string) string {
	for _, ref := range refs {
		if !i.usesEngine() {
			break
		}
		if _, err := i.Engine.ImageInspect(ctx, ref); err == nil {
			return ref
		}
	}
	return ""
}

// Inspect calls use with the contents of an image. The image on an engine may be for any
// architecture; of other images, Inspect reads the one for arch.
func (i *Inspector) Inspect(ctx context.Context, ref, arch string, use func(*Contents) error) error {
	found, err := i.find(ctx, ref, arch)
	if err != nil {
		return err
	}
	c := contentsOf(found)
	return found.WithFiles(ctx, func(files source.Files) error {
		c.Files = files
		return use(c)
	})
}

func (i *Inspector) find(ctx context.Context, ref, arch string) (*source.Image, error) {
	platform := v1.Platform{OS: "linux", Architecture: arch}
	keychain := i.Keychain
	if keychain == nil {
		keychain = authn.NewMultiKeychain()
	}
	registry := &source.Registry{Keychain: keychain, Backoff: remote.Backoff{Steps: 1}}
	switch {
	case i.Place == Registry:
		return registry.Find(ctx, ref, platform)
	case i.Place != Place{} && i.Place != Engine:
		return (&source.Layout{Dir: i.Place.dir}).Find(ctx, ref, platform)
	case i.Engine == nil:
		return registry.Find(ctx, ref, platform)
	}
	inspected, err := i.Engine.ImageInspect(ctx, ref)
	switch {
	case err == nil:
		platform.Architecture = inspected.Architecture
		engine := &source.Engine{Engine: &docker.Engine{Client: i.Engine, Log: &event.Log{}}, Pull: source.PullNever}
		return engine.Find(ctx, ref, platform)
	case !errdefs.IsNotFound(err):
		return nil, fmt.Errorf("cannot look for image %q: %w", ref, err)
	case i.Place == Engine:
		return nil, fmt.Errorf("cannot get image %q: the engine has none", ref)
	}
	found, failed := registry.Find(ctx, ref, platform)
	if failed != nil {
		return nil, fmt.Errorf("the engine has no image %q: %w", ref, failed)
	}
	return found, nil
}

func contentsOf(found *source.Image) *Contents {
	config := found.Config.Config
	c := &Contents{
		Architecture: found.Config.Architecture, User: config.User, Entrypoint: config.Entrypoint, Command: config.Cmd,
		Env: config.Env, Folder: config.WorkingDir, Labels: config.Labels,
	}
	for _, text := range slices.Sorted(maps.Keys(config.ExposedPorts)) {
		number, protocol, _ := strings.Cut(text, "/")
		if n, err := strconv.Atoi(number); err == nil && (protocol == "" || protocol == "tcp") {
			c.Ports = append(c.Ports, n)
		}
	}
	slices.Sort(c.Ports)
	return c
}
