//go:build !windows

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/internal/testunit"
)

// shims are the commands that a block may call besides the shell's own and `toskose`. What is not here is not found. What has no
// effect here needs rights, a cluster, an image or a network; its arguments are looked for in its help, where it is there.
var shims = map[string]string{
	"toskose":      `exec documented toskose "$@"`,
	"bin/toskose":  `exec documented toskose "$@"`,
	"toskose-unit": `exec documented toskose-unit "$@"`,
	"curl":         `exec documented curl "$@"`,
	"docker":       `exec documented docker "$@"`,
	"kubectl":      `exec documented kubectl "$@"`,
	"kompose":      `[ -e "$3" ] && [ "$1 $2 $4" = "convert -f -o" ]`,
	"jq":           `sed -n "s/.*\"${2#.}\": *\"\([^\"]*\)\".*/\1/p"`,
	"uuidgen":      `echo 7e9f4c9e-35a9-4b58-8d5c-0d0ea1b7d6ff`,
	"sudo":         `exec "$@"`,
	"apt":          `[ "$1" = install ]`,
	"dot":          `cat >/dev/null`,
	"make":         `:`, // internal/docs looks for its targets
}

// tools are what else a block may call.
var tools = []string{"sh", "tar", "gzip", "cat", "printf", "chmod", "sed", "mkdir"}

// desk is where the blocks of a page are tried.
type desk struct {
	dir  string
	env  []string
	apps map[string]*resident // by their folders
	text *strings.Replacer    // for what is of this run, in blocks
}

// folders are those with an application that runs, by what pages call them, and where the applications come from.
var folders = []struct{ name, archive string }{
	{"thinking-toskosed", "examples/thinking"},
	{"pipeline-toskosed", "examples/pipeline"},
	{"hello-toskosed", "src/hello"},
	{"site-toskosed", "src/site"},
	{"notes-toskosed", "notes"},
}

// newDesk has what the commands of a page need: archives, files that it or another page shows, folders
// that were packaged, and the applications of those running.
func newDesk(t *testing.T, page docs.Page) *desk {
	t.Helper()
	d := &desk{dir: t.TempDir(), apps: map[string]*resident{}}
	for _, name := range []string{"thinking.csar", "app.csar", "examples/thinking", "CSAR_PATH"} {
		d.copy(t, "examples/thinking", name)
	}
	d.copy(t, "examples/pipeline", "examples/pipeline")
	for name, text := range exampleFiles(t) {
		d.file(t, name, text)
	}
	if err := os.MkdirAll(filepath.Join(d.dir, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hello", "site"} {
		if code := run(t.Context(), []string{"init", filepath.Join(d.dir, "src", name)}, environment{out: io.Discard, err: os.Stderr}); code != 0 {
			t.Fatal("toskose init fails")
		}
	}
	for _, folder := range folders {
		runs := strings.Contains(page.Text, "--dir "+folder.name) || strings.Contains(page.Text, folder.name+"/secrets/netrc")
		switch {
		case runs || folder.name == "thinking-toskosed" && page.Name == "README.md" || folder.name == "pipeline-toskosed" && strings.Contains(page.Name, "pipeline"):
			d.apps[folder.name] = settle(t, filepath.Join(d.dir, folder.archive), filepath.Join(d.dir, folder.name))
		case folder.name == "thinking-toskosed":
			packaged(t, filepath.Join(d.dir, folder.archive), filepath.Join(d.dir, folder.name), emptyConfig)
		}
	}
	for _, name := range []string{"thinking-1", "thinking-2"} {
		packaged(t, filepath.Join(d.dir, "examples/thinking"), filepath.Join(d.dir, name), emptyConfig)
	}
	for name, to := range map[string]string{"build/demo": "thinking-toskosed", "out": "pipeline-toskosed"} {
		if err := cmp.Or(os.MkdirAll(filepath.Dir(filepath.Join(d.dir, name)), 0o755), os.Symlink(filepath.Join(d.dir, to), filepath.Join(d.dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	d.file(t, "supervisord.conf", strings.NewReplacer("9001", strconv.Itoa(freeport.Find(t)), "8000", strconv.Itoa(freeport.Find(t))).Replace(exampleFiles(t)["supervisord.conf"]))
	t.Cleanup(func() { d.endUnit(t) })
	d.file(t, "staging-password", "secret\n")
	d.surround(t)
	d.release(t)
	if err := cmp.Or(os.Chmod(filepath.Join(d.dir, "staging-password"), 0o600), contexts.Deployed(d.env, "thinking", filepath.Join(d.dir, "thinking-toskosed"))); err != nil {
		t.Fatal(err)
	}
	return d
}

// release makes the archive of a release. scripts/distcheck.sh tries a whole one.
func (d *desk) release(t *testing.T) {
	t.Helper()
	const name = "toskose_0.1.0_linux_amd64"
	d.copy(t, "examples/thinking", name+"/examples/thinking")
	d.file(t, name+"/toskose", "#!/bin/sh\n"+shims["toskose"]+"\n")
	tar := exec.CommandContext(t.Context(), "tar", "-czf", name+".tar.gz", name)
	tar.Dir = d.dir
	if out, err := tar.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// endUnit ends the unit that a page has left running.
func (d *desk) endUnit(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, "unit.pid"))
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	for { // it is nobody's child here, and may stay a zombie
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err != nil || len(line) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond) // there is nothing else to wait on
	}
}

func (d *desk) file(t *testing.T, name, text string) {
	t.Helper()
	path, mode := filepath.Join(d.dir, name), os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
		t.Fatal(err)
	}
}

func (d *desk) copy(t *testing.T, from, to string) {
	t.Helper()
	if !filepath.IsAbs(from) {
		from = filepath.Join(docs.Root(t), from)
	}
	if err := os.CopyFS(filepath.Join(d.dir, to), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// surround makes the commands and the environment of blocks.
func (d *desk) surround(t *testing.T) {
	t.Helper()
	bin := filepath.Join(d.dir, ".shims")
	for name, script := range shims {
		path := filepath.Join(".shims", name)
		if strings.Contains(name, "/") {
			path = name
		}
		d.file(t, path, "#!/bin/sh\n"+script+"\n")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"documented": self}
	for _, name := range tools {
		if links[name], err = exec.LookPath(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	var connect []string
	var encrypted string
	replace := []string{"[OPTIONS]", "", "5HV57K5U2KKYBA32ZPEGXVANRU", "first"}
	for name, r := range d.apps {
		if published := map[string]int{"hello-toskosed": 8000, "site-toskosed": 8000, "notes-toskosed": 9090}[name]; published > 0 {
			connect = append(connect, fmt.Sprintf("localhost:%d:127.0.0.1:%d", published, r.open))
		}
		if at, is := r.units["backend"]; is {
			connect = append(connect, fmt.Sprintf("localhost:10000:127.0.0.1:%d", r.port))
			replace = append(replace, "10.0.1.7:9001", at.String())
			encrypted = "localhost:10000:" + r.serveTLS(t, filepath.Join(d.dir, name, "secrets", "tls-ca.crt"))
		}
	}
	d.text = strings.NewReplacer(replace...)
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		situation, dir, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if err := d.become(r.Context(), situation, dir); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	}))
	t.Cleanup(control.Close)
	path := func(name string) string {
		found, err := exec.LookPath(name)
		if err != nil {
			return "none"
		}
		return found
	}
	d.env = []string{
		"PATH=" + bin, "HOME=" + d.dir, "NO_PROXY=*", "GORACE=atexit_sleep_ms=0", "DOCKER_HOST=unix:///nowhere/engine.sock", "TOSKOSE_CONFIG=" + filepath.Join(d.dir, "contexts"),
		"DOCS_CONTROL=" + control.URL, "DOCS_CONNECT=" + strings.Join(connect, " "), "DOCS_CONNECT_TLS=" + encrypted, "DOCS_UNIT=" + testunit.Shipped(t),
		"DOCS_CURL=" + path("curl"), "DOCS_DOCKER=" + path("docker"), "DOCS_KUBECTL=" + path("kubectl"), "KUBECONFIG=/nowhere",
	}
}

// sh runs a block, and returns what it prints.
func (d *desk) sh(t *testing.T, block string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "set -eu\n"+d.text.Replace(block))
	cmd.Dir, cmd.Env = d.dir, d.env
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Errorf("%v:\n%s\nprints\n%s%s", err, block, out.String(), said.String())
	}
	return out.String()
}

// become leads the application of a folder, or all, to where a command can be tried.
func (d *desk) become(ctx context.Context, situation, dir string) error {
	if folder, err := filepath.EvalSymlinks(filepath.Join(d.dir, dir)); err == nil {
		dir = filepath.Base(folder)
	}
	for folder, r := range d.apps {
		if d.apps[dir] != nil && folder != dir {
			continue
		}
		var out bytes.Buffer
		toskose := func(words ...string) error {
			if code := run(ctx, append(words, "--dir", filepath.Join(d.dir, folder)), environment{out: &out, err: &out}); code != 0 {
				return fmt.Errorf("%q of %s: %s", words, folder, out.String())
			}
			return nil
		}
		var err error
		switch situation {
		case "up", "down":
			err = toskose(situation)
		case "held":
			err = toskose("up")
			_ = toskose("run", r.components[0], "stop") // if it can be stopped
		default:
			words := []string{"goal"}
			for _, name := range r.components {
				words = append(words, name+"="+situation)
			}
			err = toskose(words...)
		}
		if err == nil && situation != "up" && situation != "held" {
			err = r.withoutAGoal(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withoutAGoal has the manager only look.
func (r *resident) withoutAGoal(ctx context.Context) error {
	req := httptest.NewRequestWithContext(ctx, http.MethodPut, "/api/v1/app/goal", strings.NewReader(`{"state": "none"}`))
	req.Header.Set("Content-Type", "application/json")
	req.SetBasicAuth("admin", r.password)
	w := httptest.NewRecorder()
	if r.handler.ServeHTTP(w, req); w.Code != http.StatusOK {
		return fmt.Errorf("the goal cannot be removed: %d %s", w.Code, w.Body)
	}
	return nil
}

// TestEveryCommandOfTheDocumentationRuns has a shell run the blocks of each page, one after the other, in a folder with what they need. Commands
// that look at documents run; what builds is a dry run; and what asks a manager asks a real one, of real units.
func TestEveryCommandOfTheDocumentationRuns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs units; not with -short")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed (Debian package curl)")
	}
	of := map[string][]docs.Block{}
	for _, b := range docs.Of(t, docs.Shell) {
		of[b.Page] = append(of[b.Page], b)
	}
	for _, page := range docs.Pages(t) {
		if len(of[page.Name]) == 0 {
			continue
		}
		t.Run(page.Name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, page)
			before := "" // variables of the blocks before
			for _, b := range of[page.Name] {
				d.sh(t, before+b.Text)
				for _, match := range regexp.MustCompile(`(?m)^[a-z]+=[^(\n]*\n`).FindAllString(b.Text, -1) {
					before += match
				}
			}
		})
	}
}

// TestTheJobsOfTheDocumentationRun has a shell run the steps of each.
func TestTheJobsOfTheDocumentationRun(t *testing.T) {
	t.Parallel()
	for _, b := range docs.Of(t, docs.Workflow) {
		var jobs map[string]struct {
			On          string `yaml:"runs-on"`
			Permissions map[string]string
			Steps       []struct {
				Uses, Run string
				With      map[string]string
			}
		}
		decoder := yaml.NewDecoder(strings.NewReader(b.Text))
		decoder.KnownFields(true)
		if err := decoder.Decode(&jobs); err != nil {
			t.Fatalf("%s:%d: %v", b.Page, b.Line, err)
		}
		d := newDesk(t, docs.Page{Name: "job"})
		for name, job := range jobs {
			for _, step := range job.Steps {
				if (step.Run == "") == !regexp.MustCompile(`^[a-z-]+/[a-z-]+@v[0-9]+$|^[a-z]+/[a-z-]+/[a-z-]+@v[0-9]+$`).MatchString(step.Uses) {
					t.Errorf("%s:%d: a step of %s neither runs nor uses anything: %+v", b.Page, b.Line, name, step)
				}
				for input := range step.With {
					if strings.HasPrefix(step.Uses, "toskose/") && !slices.Contains(actionInputs(t), input) {
						t.Errorf("%s:%d: action.yml has no input %q", b.Page, b.Line, input)
					}
				}
				d.sh(t, step.Run)
			}
		}
	}
}

// actionInputs returns the inputs of the repository's action.
func actionInputs(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs.Root(t), "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var action struct{ Inputs map[string]any }
	if err := yaml.Unmarshal(text, &action); err != nil {
		t.Fatal(err)
	}
	return slices.Collect(maps.Keys(action.Inputs))
}

// TestEveryCommandInASentenceOfTheDocumentationExists reads the arguments of commands of toskose in the middle of sentences, as far
// as they go: what they are about may be left out.
func TestEveryCommandInASentenceOfTheDocumentationExists(t *testing.T) {
	t.Parallel()
	found := 0
	for _, p := range docs.Pages(t) {
		for _, span := range p.Spans() {
			words := strings.Fields(span)
			if p.Name == "CHANGELOG.md" || len(words) < 2 || words[0] != "toskose" && words[0] != "bin/toskose" {
				continue
			}
			found++
			words = slices.DeleteFunc(words[1:], func(word string) bool { return word == "…" })
			cmd, rest, err := newCommand(environment{}).Find(words)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err != nil && !strings.Contains(err.Error(), "flag needs an argument") && !errors.Is(err, pflag.ErrHelp) {
				t.Errorf("%s: `%s`: %v", p.Name, span, err)
			} else if cmd.HasSubCommands() && cmd.HasParent() && cmd.RunE == nil && cmd.Flags().NArg() > 0 {
				t.Errorf("%s: `%s`: %s has no such command", p.Name, span, cmd.CommandPath())
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d commands are found", found)
	}
}

// TestOtherCommandsInASentenceOfTheDocumentationExist looks for those of Docker and Kubernetes in their help.
func TestOtherCommandsInASentenceOfTheDocumentationExist(t *testing.T) {
	t.Parallel()
	d := &desk{dir: t.TempDir()}
	d.surround(t)
	found := 0
	for _, p := range docs.Pages(t) {
		for _, span := range p.Spans() {
			if p.Name != "CHANGELOG.md" && regexp.MustCompile(`^(docker|kubectl) [a-z]`).MatchString(span) {
				d.sh(t, strings.ReplaceAll(span, "…", ""))
				found++
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d commands are found", found)
	}
}
