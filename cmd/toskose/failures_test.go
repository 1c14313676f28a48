package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/toskose/toskose/cmd/toskose/cli"
)

// shop is a world with an application to package: a registry that has its base,
// binaries, and a folder for all that is made. Temporary files are counted
// with that, so a test with a shop is not parallel.
type shop struct {
	t    *testing.T
	host string // of the registry
	dir  string
	env  environment

	out, err bytes.Buffer
	around   atomic.Pointer[func(http.Handler) http.Handler] // what answers before the registry does
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, dir: t.TempDir()}
	s.env = environment{out: &s.out, err: &s.err, binaries: []string{filepath.Join(s.dir, "bin")}}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if around := s.around.Load(); around != nil {
			(*around)(handler).ServeHTTP(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(server.Close)
	s.host = strings.TrimPrefix(server.URL, "http://")
	s.base()
	s.file("shop/start.sh", "#!/bin/sh\n")
	s.file("shop/shop.yaml", strings.ReplaceAll(shopYAML, "HOST", s.host))
	s.file("shop.yml", "nodes: {web: {docker: {name: "+s.host+"/team/web}}}\nmanager: {docker: {name: "+s.host+"/team/manager}}\n")
	for _, name := range []string{"toskose-unit", "toskose-manager"} {
		var data bytes.Buffer
		header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: 64}
		copy(header.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1})
		if err := binary.Write(&data, binary.LittleEndian, header); err != nil {
			t.Fatal(err)
		}
		s.file("bin/"+name+"-linux-amd64", data.String())
	}
	s.file("made/.keep", "")
	s.file("tmp/.keep", "")
	t.Setenv("TMPDIR", filepath.Join(s.dir, "tmp"))
	t.Setenv("DOCKER_CONFIG", s.dir) // nobody's credentials
	return s
}

const shopYAML = `tosca_definitions_version: tosca_simple_yaml_1_0
metadata: {template_name: shop, template_version: "1"}
imports: [tosker-types.yaml]
topology_template:
  node_templates:
    web:
      type: tosker.nodes.Container
      artifacts:
        image: {type: tosker.artifacts.Image, file: "HOST/base:1"}
    page:
      type: tosker.nodes.Software
      requirements: [{host: web}]
      interfaces: {Standard: {start: {implementation: start.sh}}}
`

func (s *shop) base() {
	s.t.Helper()
	img, err := random.Image(1024, 2)
	if err == nil {
		config, _ := img.ConfigFile()
		config = config.DeepCopy()
		config.OS, config.Architecture = "linux", "amd64"
		img, err = mutate.ConfigFile(img, config)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	ref, err := name.ParseReference(s.host + "/base:1")
	if err == nil {
		err = remote.Write(ref, img)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) file(path, text string) {
	s.t.Helper()
	at := filepath.Join(s.dir, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// run runs toskose, which makes whatever it makes in made/.
func (s *shop) run(ctx context.Context, args ...string) int {
	s.out.Reset()
	s.err.Reset()
	args = slices.Clone(args)
	paths := strings.NewReplacer("MADE", filepath.Join(s.dir, "made"), "SHOP", filepath.Join(s.dir, "shop"), "CONFIG", filepath.Join(s.dir, "shop.yml"))
	for i := range args {
		args[i] = paths.Replace(args[i])
	}
	return run(ctx, args, s.env)
}

// made gives all that was made and is still there, temporary files too.
func (s *shop) made() []string {
	s.t.Helper()
	var all []string
	for _, dir := range []string{"made", "tmp"} {
		err := fs.WalkDir(os.DirFS(filepath.Join(s.dir, dir)), ".", func(path string, _ fs.DirEntry, err error) error {
			if path != "." && path != ".keep" {
				all = append(all, dir+"/"+path)
			}
			return err
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return all
}

// answering has requests of some methods answered in another way.
func (s *shop) answering(answer http.HandlerFunc, methods ...string) {
	around := func(registry http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if slices.Contains(methods, r.Method) {
				answer(w, r)
				return
			}
			registry.ServeHTTP(w, r)
		})
	}
	s.around.Store(&around)
}

var (
	toRegistry = []string{"--platform", "linux/amd64", "--output-images", "registry", "-o", "MADE/out", "SHOP", "CONFIG"}
	toLayout   = []string{"--platform", "linux/amd64", "--output-images", "oci:MADE/layout", "--base-images", "registry", "-o", "MADE/out", "SHOP", "CONFIG"}
)

func TestWhateverFailsEndsInOneMessageAndNothingIsLeft(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	all := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch}
	for name, test := range map[string]struct {
		args   []string
		before func(*shop)
		want   []string
	}{
		"a registry that refuses what is pushed": {
			toRegistry, func(s *shop) { s.answering(status(http.StatusForbidden), http.MethodPost, http.MethodPut) },
			[]string{`cannot push image "`, `/team/`, `refuses`, "docker.name in toskose.yml"},
		},
		"a registry that wants a password": {
			toRegistry, func(s *shop) {
				s.answering(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
					w.WriteHeader(http.StatusUnauthorized)
				}, all...)
			},
			[]string{"/base:1", "401", "`docker login "},
		},
		"a registry that goes away": {
			toRegistry, func(s *shop) {
				s.answering(func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // what was sent and is not read resets a connection
					panic(http.ErrAbortHandler)
				}, http.MethodPatch, http.MethodPut)
			},
			[]string{`cannot push image "`, "EOF"},
		},
		"a base that is missing": {
			toLayout, func(s *shop) { s.answering(status(http.StatusNotFound), http.MethodGet, http.MethodHead) },
			[]string{"/base:1", "has none", "nodes.web.docker.base_image"},
		},
		"a script that is missing": {
			toLayout, func(s *shop) {
				if err := os.Remove(filepath.Join(s.dir, "shop", "start.sh")); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"start.sh"},
		},
		"a name that no image can have": {
			toLayout, func(s *shop) { s.file("shop.yml", "nodes: {web: {docker: {name: Team/Web}}}\n") },
			[]string{`shop.yml:1:30: nodes.web.docker.name: "Team/Web" is not an image name`},
		},
		"a name that no container can have": {
			toLayout, func(s *shop) {
				s.file("shop/shop.yaml", strings.NewReplacer("HOST", s.host, "web", "we/b").Replace(shopYAML))
				s.file("shop.yml", "{}\n")
			},
			[]string{`shop.yaml:6:5: container "we/b" cannot have this name`},
		},
		"an engine that is not there": {
			[]string{"--docker-url", "unix:///no/engine.sock", "-o", "MADE/out", "SHOP", "CONFIG"},
			func(*shop) {},
			[]string{"cannot reach the Docker engine"},
		},
		"an engine that goes away": {
			[]string{"--docker-url", "tcp://HOST", "-o", "MADE/out", "SHOP", "CONFIG"},
			func(s *shop) {
				around := func(http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if !strings.HasSuffix(r.URL.Path, "/version") && !strings.HasSuffix(r.URL.Path, "/_ping") {
							panic(http.ErrAbortHandler)
						}
						_, _ = io.WriteString(w, `{"ApiVersion": "1.41", "Arch": "amd64", "Os": "linux"}`)
					})
				}
				s.around.Store(&around)
			},
			[]string{"EOF"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			test.before(s)
			args := slices.Clone(test.args)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "HOST", s.host)
			}
			code := s.run(t.Context(), args...)
			said := strings.TrimSuffix(s.err.String(), "\n")
			if code != cli.ExitFailed || said == "" || strings.Contains(said, "\n") {
				t.Errorf("exit code %d, with\n%s", code, said)
			}
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("no %q in %s", want, said)
				}
			}
			if left := s.made(); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

func TestAnInterruptionAtAnyMomentLeavesAllOrNothing(t *testing.T) {
	for name, flags := range map[string][]string{"to a registry": toRegistry, "to a layout": toLayout} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			moments, stopped := 1, 0
			for moment := 1; moment <= moments; moment++ {
				ctx, stop := context.WithCancel(t.Context())
				var requests atomic.Int32
				around := func(registry http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if int(requests.Add(1)) == moment {
							stop()
						}
						registry.ServeHTTP(w, r)
					})
				}
				s.around.Store(&around)
				code := s.run(ctx, flags...)
				stop()
				moments = max(moments, int(requests.Load())+1) // the last one is after all of it
				switch left := s.made(); code {
				case cli.ExitOK:
					if !slices.Contains(left, "made/out/docker-compose.yml") || !slices.Contains(left, "made/out/secrets/netrc") {
						t.Errorf("it says that all is well at request %d, and there is %q", moment, left)
					}
				case cli.ExitInterrupted:
					stopped++
					if said := s.err.String(); len(left) > 0 || !strings.HasPrefix(said, "toskose: interrupted: ") || strings.Count(said, "\n") != 1 {
						t.Errorf("at request %d: left %q, said %s", moment, left, said)
					}
				default:
					t.Errorf("exit code %d", code)
				}
				for _, dir := range []string{"out", "layout"} {
					if err := os.RemoveAll(filepath.Join(s.dir, "made", dir)); err != nil {
						t.Fatal(err)
					}
				}
				s.base() // what was pushed is pushed again
			}
			if stopped < 3 {
				t.Errorf("only %d of %d moments were interrupted", stopped, moments)
			}
		})
	}
}

// contents gives the files of the output folder and what is in them.
func (s *shop) contents() []string {
	s.t.Helper()
	var all []string
	for _, path := range s.made() {
		at := filepath.Join(s.dir, path)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && !strings.HasSuffix(path, "/full") {
			data, err := os.ReadFile(at)
			if err != nil {
				s.t.Fatal(err)
			}
			all = append(all, path+": "+string(data))
		}
	}
	return all
}
