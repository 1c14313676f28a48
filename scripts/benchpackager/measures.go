package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// app is the application name used for measuring Thinking, so that images of the real one are not
// affected.
const app = "benchpackager"

// images are Thinking's images by node.
var images = map[string]string{
	"backend": app + "-backend-toskosed:latest", "frontend": app + "-frontend-toskosed:latest", "manager": app + "-manager:latest",
}

const memoryLimit = 200e6

var measures = []measure{
	{"Thinking: manifests and contexts from the CSAR", true, contexts},
	{"Thinking: three images to an engine", true, toEngine},
	{"Thinking: the same again", true, again},
	{"500 nodes: images to an OCI layout", false, wide},
	{"2 GB of artifacts: images to an OCI layout", false, large},
}

func contexts(ctx context.Context, b *bench) (result, error) {
	r, err := b.repeat(ctx, nil, b.thinking(), "--contexts", "contexts")
	r.goal = 30 * time.Millisecond
	return r, err
}

func toEngine(ctx context.Context, b *bench) (result, error) {
	defer func() { _ = removeImages(context.WithoutCancel(ctx)) }() // the next run reports the error
	r, err := b.repeat(ctx, removeImages, b.thinking())
	if err != nil {
		return r, err
	}
	r.goal = time.Second
	r.note, err = growth(ctx)
	return r, err
}

func again(ctx context.Context, b *bench) (result, error) {
	defer func() { _ = removeImages(context.WithoutCancel(ctx)) }() // the next run reports the error
	if _, _, err := b.pack(ctx, b.thinking()); err != nil {
		return result{}, err
	}
	return b.repeat(ctx, nil, b.thinking())
}

func wide(ctx context.Context, b *bench) (result, error) { return b.toLayout(ctx, b.wide()) }

func large(ctx context.Context, b *bench) (result, error) { return b.toLayout(ctx, b.large()) }

func (b *bench) toLayout(ctx context.Context, archive string) (result, error) {
	took, memory, err := b.pack(ctx, archive, "--base-images", "oci:"+b.baseLayout(), "--output-images", "oci:images")
	return result{took: []time.Duration{took}, memory: memory, limit: memoryLimit}, err
}

// removeImages removes the images of a run with all of their layers.
func removeImages(ctx context.Context) error {
	list, err := exec.CommandContext(ctx, "docker", "image", "ls", "--filter", "reference="+app+"-*", "--format", "{{.Repository}}:{{.Tag}}").Output()
	if err != nil {
		return err
	}
	for _, image := range strings.Fields(string(list)) {
		if text, err := exec.CommandContext(ctx, "docker", "image", "rm", image).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, text)
		}
	}
	return nil
}

// growth returns the size that images add to their base.
func growth(ctx context.Context) (string, error) {
	size := func(ref string) (int64, error) {
		out, err := exec.CommandContext(ctx, "docker", "image", "inspect", "-f", "{{.Size}}", ref).Output()
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	}
	from, err := size(base)
	if err != nil {
		return "", err
	}
	var said []string
	for _, node := range []string{"backend", "frontend"} {
		n, err := size(images[node])
		if err != nil {
			return "", err
		}
		said = append(said, fmt.Sprintf("%s %s", node, megabytes(n-from)))
	}
	return fmt.Sprintf("size in addition to %s (%s): %s", base, megabytes(from), strings.Join(said, ", ")), nil
}

func (b *bench) thinking() string   { return filepath.Join(b.dir, "thinking.csar") }
func (b *bench) wide() string       { return filepath.Join(b.dir, "wide.csar") }
func (b *bench) large() string      { return filepath.Join(b.dir, "large.csar") }
func (b *bench) baseLayout() string { return filepath.Join(b.dir, "base") }

const (
	wideNodes  = 500
	largeFiles = 4
	largeSize  = 512 << 20
)

// prepare creates the archives, and a base image that does not need an engine.
func (b *bench) prepare() error {
	path, err := layout.Write(b.baseLayout(), empty.Index)
	if err != nil {
		return err
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: goarch(), RootFS: v1.RootFS{Type: "layers"}})
	if err != nil {
		return err
	}
	if err := path.AppendImage(img, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "base:1"})); err != nil {
		return err
	}
	return errors.Join(b.makeThinking(), b.makeArchive(b.wide(), wideNodes, 0), b.makeArchive(b.large(), 1, largeFiles))
}

// makeThinking creates an archive of Thinking with another application name.
func (b *bench) makeThinking() error {
	return archive(b.thinking(), func(zw *zip.Writer) error {
		return addTree(zw, os.DirFS("examples/thinking"), func(name string, data []byte) []byte {
			if name != "thinking.yaml" {
				return data
			}
			return []byte(strings.Replace(string(data), "template_name: thinking", "template_name: "+app, 1))
		})
	})
}

// makeArchive writes an archive with a number of containers, each with a component, and a number
// of large files in addition to its script.
func (b *bench) makeArchive(path string, nodes, files int) error {
	return archive(path, func(zw *zip.Writer) error {
		if err := add(zw, "app.yaml", strings.NewReader(topology(nodes))); err != nil {
			return err
		}
		if err := add(zw, "scripts/start.sh", strings.NewReader("#!/bin/sh\nexec sleep 1000\n")); err != nil {
			return err
		}
		random := rand.NewChaCha8([32]byte{})
		for i := range files {
			if err := add(zw, fmt.Sprintf("scripts/data-%d", i), io.LimitReader(random, largeSize)); err != nil {
				return err
			}
		}
		return nil
	})
}

func topology(nodes int) string {
	var s strings.Builder
	fmt.Fprintf(&s, `tosca_definitions_version: tosca_simple_yaml_1_0
metadata: {template_name: %s, template_version: "1"}
imports: [tosker-types.yaml]
repositories: {docker_hub: "https://registry.hub.docker.com/"}
topology_template:
  node_templates:
`, app)
	for i := range nodes {
		fmt.Fprintf(&s, `    node%[1]d:
      type: tosker.nodes.Container
      artifacts: {image: {type: tosker.artifacts.Image, file: "base:1", repository: docker_hub}}
    part%[1]d:
      type: tosker.nodes.Software
      requirements: [{host: node%[1]d}]
      interfaces: {Standard: {start: {implementation: scripts/start.sh}}}
`, i)
	}
	return s.String()
}
