package tosca_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
	"github.com/toskose/toskose/tosca/diag"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// A case is a txtar archive: its comment says what it shows, its files are
// those of the application. The file "want" has the diagnostics, each with its
// code; the file "inputs" has the user's inputs, a `name=value` a line, and
// "inputs.yaml" is a file of them. A case in a folder that ends in "draft" is
// loaded as a draft.
type testCase struct {
	path    string
	txt     *txtar.Archive
	archive *csar.Archive
	want    string
	inputs  map[string]any
	file    *tosca.InputFile
}

func (c *testCase) options() tosca.Options {
	return tosca.Options{
		Inputs: c.inputs, InputFile: c.file, Draft: filepath.Base(filepath.Dir(c.path)) == "draft",
	}
}

func readCase(t *testing.T, path string) *testCase {
	t.Helper()
	txt, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &testCase{path: path, txt: txt, inputs: map[string]any{}}
	files := map[string]string{}
	for _, f := range txt.Files {
		switch f.Name {
		case "want":
			c.want = string(f.Data)
		case "inputs":
			for line := range strings.Lines(string(f.Data)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				c.inputs[name] = value
			}
		case "inputs.yaml":
			c.file = &tosca.InputFile{Name: "../my/inputs.yaml", Data: f.Data}
		default:
			files[f.Name] = string(f.Data)
		}
	}
	c.archive = zipped(t, files)
	return c
}

// zipped makes an archive of files, whose entry is app.yaml unless they have a
// TOSCA.meta. They are stored: to compress them takes longer than to read them.
func zipped(t testing.TB, files map[string]string) *csar.Archive {
	t.Helper()
	const meta = "TOSCA-Metadata/TOSCA.meta"
	if _, has := files[meta]; !has {
		files[meta] = "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: a test\nEntry-Definitions: app.yaml\n"
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, data := range files {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := csar.OpenReader("app.csar", bytes.NewReader(b.Bytes()), int64(b.Len()), csar.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func printed(list diag.List) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "%s %s\n", d.Code, d.Error())
	}
	return b.String()
}

func cases(t *testing.T, dir string, run func(*testing.T, *testCase)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no cases in testdata/%s: %v", dir, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			run(t, readCase(t, path))
		})
	}
}

// golden compares with a file, or rewrites it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// expect compares the diagnostics with those of the case.
func (c *testCase) expect(t *testing.T, list diag.List) {
	t.Helper()
	got := printed(list)
	if *update {
		if got == "" && c.want == "" {
			return
		}
		kept := c.txt.Files[:0]
		for _, f := range c.txt.Files {
			if f.Name != "want" {
				kept = append(kept, f)
			}
		}
		c.txt.Files = append(kept, txtar.File{Name: "want", Data: []byte(got)})
		if err := os.WriteFile(c.path, txtar.Format(c.txt), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(c.want, got); diff != "" {
		t.Errorf("the diagnostics of %s differ (-want +got):\n%s", c.path, diff)
	}
}

func TestLoadMakesTheModelOfValidDocuments(t *testing.T) {
	t.Parallel()
	cases(t, "valid", func(t *testing.T, c *testCase) {
		app, list, err := tosca.Load(t.Context(), c.archive, c.options())
		if err != nil {
			t.Fatalf("refused:\n%v", err)
		}
		c.expect(t, list)
		data, err := spec.Encode(app)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, strings.TrimSuffix(c.path, ".txtar")+".json", data)

		again, err := decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(app, again); diff != "" {
			t.Errorf("the model does not survive JSON (-before +after):\n%s", diff)
		}
	})
}

func TestADraftMayLackWhatIsStillToBeWritten(t *testing.T) {
	t.Parallel()
	cases(t, "draft", func(t *testing.T, c *testCase) {
		app, list, err := tosca.Load(t.Context(), c.archive, c.options())
		if err != nil || app == nil {
			t.Fatalf("refused:\n%v", err)
		}
		c.expect(t, list)
		opts := c.options()
		opts.Draft = false
		if app, _, err := tosca.Load(t.Context(), c.archive, opts); err == nil || app != nil {
			t.Error("accepted, though it is no draft")
		}
	})
}

func TestLoadReportsEveryMistakeAtOnceAndMakesNothing(t *testing.T) {
	t.Parallel()
	cases(t, "invalid", func(t *testing.T, c *testCase) {
		app, list, err := tosca.Load(t.Context(), c.archive, c.options())
		if err == nil || app != nil {
			t.Fatalf("accepted, with an application: %v", app != nil)
		}
		var bad diag.List
		if !errors.As(err, &bad) {
			t.Fatalf("the error is no list of diagnostics: %v", err)
		}
		c.expect(t, list)
	})
}

func TestTheExampleLoadsFromItsSourceTree(t *testing.T) {
	t.Parallel()
	a, err := csar.Open(filepath.Join("..", "examples", "thinking"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	app, list, err := tosca.Load(t.Context(), a, tosca.Options{Inputs: map[string]any{"gui_port": "9999"}})
	if err != nil || len(list) > 0 {
		t.Fatalf("refused:\n%v\n%v", list, err)
	}
	hosts := map[string]string{}
	for _, m := range app.Components {
		hosts[m.Name] = m.Node
	}
	want := map[string]string{"api": "backend", "gui": "frontend", "logsniffer": "backend"}
	if diff := cmp.Diff(want, hosts); diff != "" {
		t.Errorf("components are elsewhere (-want +got):\n%s", diff)
	}
	var published int
	for _, n := range app.Nodes {
		for _, p := range n.Ports {
			if n.Name == "frontend" {
				published = p.Host
			}
		}
	}
	if published != 9999 {
		t.Errorf("the page is published at port %d, not at the one given as input", published)
	}
}

func TestScriptsThatNoSystemRunsAreReportedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, data string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("good.sh", "#!/bin/sh\necho\r\n", 0o755)
	write("dos.sh", "#!/bin/sh -e\r\necho\r\n", 0o755)
	write("bare.sh", "echo\r\n", 0o644)
	write("app.py", "print()\n", 0o755)
	write("tool.bin", "\x7fELF", 0o644)
	write("app.yaml", header+`
topology_template:
  node_templates:
    box: {type: tosker.nodes.Container, artifacts: {i: {file: busybox, type: tosker.artifacts.Image}}}
    s:
      type: tosker.nodes.Software
      requirements: [{host: box}]
      interfaces: {Standard: {create: good.sh, configure: dos.sh, start: app.py, stop: bare.sh, delete: tool.bin}}
`, 0o644)
	a, err := csar.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	_, _, err = tosca.Load(t.Context(), a, tosca.Options{})
	var list diag.List
	if !errors.As(err, &list) {
		t.Fatal(err)
	}
	want := `TOSCA-OP-007 app.yaml:10:59: component "s": operation "Standard.configure": script "dos.sh" has DOS line ends (CRLF): no system finds the interpreter "/bin/sh -e\r"; convert it, as with dos2unix
TOSCA-OP-006 app.yaml:10:74: warning: component "s": operation "Standard.start": script "app.py" does not begin with #!, so /bin/sh runs it
`
	if diff := cmp.Diff(want, printed(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOneArchiveGivesTheSameModelEachTime(t *testing.T) {
	t.Parallel()
	var first []byte
	for range 5 {
		c := readCase(t, filepath.Join("testdata", "valid", "everything.txtar"))
		app, _, err := tosca.Load(t.Context(), c.archive, c.options())
		if err != nil {
			t.Fatal(err)
		}
		data, err := spec.Encode(app)
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(first, data) {
			t.Fatal("the same files gave another model")
		}
		first = data
	}
}

func TestACancelledLoadMakesNothing(t *testing.T) {
	t.Parallel()
	c := readCase(t, filepath.Join("testdata", "valid", "everything.txtar"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	app, _, err := tosca.Load(ctx, c.archive, c.options())
	if app != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got an application (%v) and %v", app != nil, err)
	}
}

func entryOf(path string) ([]byte, error) {
	txt, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	for _, f := range txt.Files {
		if f.Name == "app.yaml" {
			return f.Data, nil
		}
	}
	return nil, os.ErrNotExist
}

func TestALoneTemplateMayImportWhatIsNotBesideIt(t *testing.T) {
	t.Parallel()
	for _, imported := range []string{"../types.yaml", "/types.yaml", "/more/types.yaml", "types.yaml", "more/types.yaml"} {
		t.Run(imported, func(t *testing.T) {
			t.Parallel()
			importGone(t, imported)
		})
	}
}

// What a lone template imports from beyond its folder is read, and what that imports
// in turn; from an archive, also an unpacked one, no path leads out.
func TestALoneTemplateIsReadWithWhatItImportsFromBeyondItsFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const header = "tosca_definitions_version: tosca_simple_yaml_1_3\n"
	for name, text := range map[string]string{
		"types/base.yaml":       header + "imports: [more/other.yaml, ../shop/near.yaml, linked.yaml]\nnode_types: {my.Base: {derived_from: my.Other, properties: {size: {type: integer}}}}\n",
		"types/more/other.yaml": header + "node_types: {my.Other: {derived_from: Root}}\n",
		"shop/near.yaml":        header,
		"shop/app.yaml":         header + "imports: [../types/base.yaml, ../types/gone.yaml, ../types/list.txt]\ntopology_template: {node_templates: {a: {type: my.Base, properties: {size: x}}, b: {type: my.Bsae}}}\n",
		"types/list.txt":        "secret",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("base.yaml", filepath.Join(dir, "types", "linked.yaml")); err != nil {
		t.Fatal(err)
	}
	for opened, want := range map[string]string{
		"shop/app.yaml": `TOSCA-CSAR-012 ../types/base.yaml:2:47: import "linked.yaml" cannot be read: "../types/linked.yaml" is a symbolic link; an archive holds files and folders only
TOSCA-IMP-001 app.yaml:2:31: warning: import "../types/gone.yaml" is not at hand (looked for "../types/gone.yaml"): names that it may define are not checked
TOSCA-IMP-001 app.yaml:2:51: warning: import "../types/list.txt" is outside of the folder of the template, and not a YAML file: names that it may define are not checked
TOSCA-VAL-001 app.yaml:3:76: node template "a": property "size" must be an integer, not "x"
TOSCA-TYPE-001 app.yaml:3:91: warning: node template "b": unknown node type "my.Bsae": it may be in a missing file (did you mean "my.Base"?)
`,
	} {
		a, err := csar.Open(filepath.Join(dir, filepath.FromSlash(opened)))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		_, list, _ := tosca.Load(t.Context(), a, tosca.Options{Draft: true})
		if got := printed(list); got != want {
			t.Errorf("%s: got\n%swant\n%s", opened, got, want)
		}
	}
	_, list, _ := tosca.Load(t.Context(), zipped(t, map[string]string{"app.yaml": header + "imports: [../types/base.yaml]\n"}), tosca.Options{Draft: true})
	if got, want := printed(list), `import "../types/base.yaml" leaves the archive`; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A file that is there and is called nearly the same is what was meant.
func TestASlipInTheNameOfAnImportIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const header = "tosca_definitions_version: tosca_simple_yaml_1_3\n"
	for name, text := range map[string]string{
		"types/base.yaml": header,
		"app.yaml":        header + "imports: [types/bsae.yaml, types/base.yml, types/other.yaml, ap.yaml]\ntopology_template: {node_templates: {a: {type: Root}}}\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := csar.Open(filepath.Join(dir, "app.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	_, list, _ := tosca.Load(t.Context(), a, tosca.Options{Draft: true})
	want := `TOSCA-IMP-001 app.yaml:2:11: import "types/bsae.yaml" is not at hand (looked for "types/bsae.yaml") (did you mean "types/base.yaml"?)
TOSCA-IMP-001 app.yaml:2:28: import "types/base.yml" is not at hand (looked for "types/base.yml") (did you mean "types/base.yaml"?)
TOSCA-IMP-001 app.yaml:2:44: warning: import "types/other.yaml" is not at hand (looked for "types/other.yaml"): names that it may define are not checked
TOSCA-IMP-001 app.yaml:2:62: warning: import "ap.yaml" is not at hand (looked for "ap.yaml"): names that it may define are not checked
`
	if got := printed(list); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func importGone(t *testing.T, imported string) {
	t.Helper()
	dir := t.TempDir()
	doc := "tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [" + imported + "]\n" +
		"topology_template: {node_templates: {a: {type: my.Type}}}\n"
	if err := os.WriteFile(filepath.Join(dir, "app.yaml"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, refused := range map[string]bool{filepath.Join(dir, "app.yaml"): false, dir: true} {
		a, err := csar.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, list, err := tosca.Load(t.Context(), a, tosca.Options{Draft: true})
		if (err != nil) != refused || len(list) == 0 || list[0].Code != "TOSCA-IMP-001" {
			t.Errorf("%s: %v, %v", filepath.Base(path), err, list)
		}
		a.Close()
	}
}

// Components that leave their host to a filter which no container fulfils are hosted on
// the one container that has an image and is not in the topology.
func TestAHostThatIsLeftToAFilterIsTheOneThatIsNamedBeside(t *testing.T) {
	t.Parallel()
	const doc = `tosca_definitions_version: tosca_simple_yaml_1_0
imports: [tosker: tosker-types.yaml]
topology_template:
  node_templates:
    other: {type: tosker.nodes.Container, artifacts: {i: {file: "redis:7", type: tosker.artifacts.Image.Service}}}
    api: {type: tosker.nodes.Software, requirements: [{host: {node_filter: {properties: [{supported_sw: [{node: 6.x}]}]}}}]}
    gui: {type: tosker.nodes.Software, requirements: [{host: {node_filter: {properties: [{ports: [{80: 8080}]}]}}}]}
`
	load := func(hosts map[string]string) (*spec.Application, error) {
		app, _, err := tosca.Load(t.Context(), zipped(t, map[string]string{"app.yaml": doc}), tosca.Options{Hosts: hosts})
		return app, err
	}
	app, err := load(map[string]string{"box": "node:6", "other": "redis:8"})
	if err != nil {
		t.Fatal(err)
	}
	if len(app.Nodes) != 2 || app.Nodes[0].Name != "box" || app.Nodes[0].Image.Name != "node:6" || app.Nodes[1].Image.Name != "redis:7" {
		t.Errorf("the containers are %+v", app.Nodes)
	}
	for _, m := range app.Components {
		if m.Node != "box" {
			t.Errorf("%s is on %q", m.Name, m.Node)
		}
	}
	for _, hosts := range []map[string]string{nil, {"other": "redis:8"}, {"a": "x", "b": "y"}} {
		if _, err := load(hosts); err == nil || !strings.Contains(err.Error(), `component "api": requirement "host" needs a node with supported_sw {"node":"6.x"}, and there is none: add it, or name an image for it in toskose.yml`) {
			t.Errorf("%v: %v", hosts, err)
		}
	}
}
