// Package engine provides a Docker engine for the packager's tests, and base images that do not
// need a registry. Images are removed after the test.
package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
)

// Connect returns the engine at hand; without one the test is skipped.
func Connect(t *testing.T) *client.Client {
	t.Helper()
	cli, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Skipf("no Docker engine: %v", err)
	}
	t.Cleanup(func() { cli.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for a busy engine: a missing one is detected at once
	defer cancel()
	if _, err := cli.Ping(ctx); err != nil {
		t.Skipf("no Docker engine: %v", err)
	}
	return cli
}

// Import makes an image of a few files, with changes as in a Dockerfile. A text "-> TARGET" makes a
// symbolic link.
func Import(t *testing.T, cli *client.Client, ref string, files map[string]string, changes ...string) {
	t.Helper()
	answer, err := cli.ImageImport(t.Context(), image.ImportSource{Source: archive(t, files), SourceName: "-"}, ref, image.ImportOptions{Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	if _, err := io.Copy(io.Discard, answer); err != nil {
		t.Fatal(err)
	}
	Remove(t, cli, ref)
}

// Build builds an image from a Dockerfile without COPY.
func Build(t *testing.T, cli *client.Client, ref, dockerfile string) {
	t.Helper()
	files := archive(t, map[string]string{"Dockerfile": dockerfile})
	answer, err := cli.ImageBuild(t.Context(), files, build.ImageBuildOptions{Tags: []string{ref}, Remove: true, ForceRemove: true})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil || !bytes.Contains(said, []byte("Successfully tagged")) {
		t.Fatalf("cannot build %q: %v\n%s", ref, err, said)
	}
	Remove(t, cli, ref)
}

func archive(t *testing.T, files map[string]string) io.Reader {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for name, text := range files {
		h := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			h.Typeflag, h.Linkname, h.Size, text = tar.TypeSymlink, target, 0, ""
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return &buf
}

// Remove removes an image after the test, if it exists, and the unique tags that packaging added
// to it.
func Remove(t *testing.T, cli *client.Client, ref string) {
	t.Helper()
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		found, err := cli.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("reference", ref+"-*"))})
		if err != nil {
			t.Error(err)
		}
		refs := []string{ref}
		for _, i := range found {
			for _, tag := range i.RepoTags {
				if strings.HasPrefix(tag, ref+"-") {
					refs = append(refs, tag)
				}
			}
		}
		for _, ref := range refs {
			_, err := cli.ImageRemove(ctx, ref, image.RemoveOptions{Force: true, PruneChildren: true})
			if err != nil && !client.IsErrNotFound(err) { //nolint:staticcheck // its successor is a separate module
				t.Errorf("cannot remove image %q: %v", ref, err)
			}
		}
	})
}

// RemoveUnnamed removes unnamed images with a label after the test: an interrupted builder leaves
// the images of its completed steps.
func RemoveUnnamed(t *testing.T, cli *client.Client, label string) {
	t.Helper()
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		found, err := cli.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("dangling", "true"), filters.Arg("label", label))})
		if err != nil {
			t.Error(err)
		}
		for _, i := range found {
			_, err := cli.ImageRemove(ctx, i.ID, image.RemoveOptions{Force: true, PruneChildren: true})
			if err != nil && !client.IsErrNotFound(err) { //nolint:staticcheck // as above
				t.Errorf("cannot remove image %q: %v", i.ID, err)
			}
		}
	})
}

// Files returns all files of an image by their path, without a leading slash.
func Files(t *testing.T, cli *client.Client, ref string) map[string]*tar.Header {
	t.Helper()
	made, err := cli.ContainerCreate(t.Context(), &container.Config{Image: ref, Cmd: []string{"none"}}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cli.ContainerRemove(t.Context(), made.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			t.Errorf("cannot remove a container: %v", err)
		}
	}()
	r, err := cli.ContainerExport(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	files := map[string]*tar.Header{}
	for tr := tar.NewReader(r); ; {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = header
	}
}

// Fake returns a client of an engine that answers by a function.
func Fake(t *testing.T, answer http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	cli, err := client.NewClientWithOpts(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithVersion("1.41"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cli.Close() })
	return cli
}
