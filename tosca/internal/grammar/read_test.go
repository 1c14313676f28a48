package grammar_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

var update = flag.Bool("update", false, "rewrite what the cases in testdata want")

// cases runs the txtar archives of a folder. Their comment says what each shows;
// "want" is what comes of the other files.
func cases(t *testing.T, dir string, got func(*testing.T, *txtar.Archive) string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no cases in testdata/%s: %v", dir, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			txt, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			is := got(t, txt)
			last := &txt.Files[len(txt.Files)-1]
			if *update {
				if last.Name != "want" {
					txt.Files = append(txt.Files, txtar.File{Name: "want"})
					last = &txt.Files[len(txt.Files)-1]
				}
				last.Data = []byte(is)
				if err := os.WriteFile(path, txtar.Format(txt), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(last.Data), is); diff != "" || last.Name != "want" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		})
	}
}

func TestEveryKeywordOfEveryVersionIsKept(t *testing.T) {
	t.Parallel()
	cases(t, "read", func(t *testing.T, txt *txtar.Archive) string {
		t.Helper()
		docs, list := load(t, txt)
		if err := list.Err(); err != nil {
			t.Errorf("it is valid, and refused: %v", err)
		}
		return printed(list) + dumped(docs[0])
	})
}

func TestWhatIsWrittenWrongIsReportedAtItsPlace(t *testing.T) {
	t.Parallel()
	cases(t, "wrong", func(t *testing.T, txt *txtar.Archive) string {
		t.Helper()
		_, list := load(t, txt)
		if !list.HasErrors() {
			t.Error("it is accepted")
		}
		return printed(list)
	})
}

// The names that each file of the archive knows its own types by, and those of
// other files in the archive.
func TestImportsGiveNamesToTypes(t *testing.T) {
	t.Parallel()
	cases(t, "scope", func(t *testing.T, txt *txtar.Archive) string {
		t.Helper()
		docs, list := load(t, txt)
		b := new(strings.Builder)
		b.WriteString(printed(list))
		for _, doc := range docs {
			if doc.Embedded {
				fmt.Fprintf(b, "embedded %s\n", doc.File)
				continue
			}
			fmt.Fprintf(b, "%s, open %v:\n", doc.File, doc.Scope().Open())
			for kind := grammar.NodeType; kind <= grammar.PolicyType; kind++ {
				for _, name := range doc.Scope().Names(kind) {
					if t := doc.Scope().Lookup(kind, name); !t.Doc.Embedded {
						fmt.Fprintf(b, "  %s %s of %s\n", kind, name, t.Doc.File)
					}
				}
			}
			fmt.Fprintf(b, "  functions %v, repositories %v\n", doc.Scope().FunctionNames(), doc.Scope().RepositoryNames())
			if doc.Topology != nil {
				for _, n := range doc.Topology.Nodes {
					found := "nothing"
					if t := doc.Scope().Lookup(grammar.NodeType, n.Type.Name); t != nil {
						found = t.Name + " of " + t.Doc.File
					}
					fmt.Fprintf(b, "  %s is %s\n", n.Type.Name, found)
				}
			}
		}
		return b.String()
	})
}

func TestShortNamesMeanNormativeTypes(t *testing.T) {
	t.Parallel()
	for version, imports := range map[string]string{
		"tosca_simple_yaml_1_0": "", "tosca_simple_yaml_1_3": "", "tosca_2_0": "imports: [{profile: 'org.oasis-open.simple:2.0'}]\n",
	} {
		docs, list := load(t, &txtar.Archive{Files: []txtar.File{{Name: "app.yaml", Data: []byte("tosca_definitions_version: " + version + "\n" + imports)}}})
		if len(list) > 0 {
			t.Fatal(list)
		}
		scope := docs[0].Scope()
		for kind, names := range map[grammar.Kind]map[string]string{
			grammar.NodeType: {
				"Compute": "tosca.nodes.Compute", "tosca:Root": "tosca.nodes.Root", "network.Port": "tosca.nodes.network.Port",
				"tosca:Network": "tosca.nodes.network.Network", "BlockStorage": "tosca.nodes.Storage.BlockStorage",
				"Storage.BlockStorage": "tosca.nodes.Storage.BlockStorage", "Container.Runtime": "tosca.nodes.Container.Runtime",
			},
			grammar.RelationshipType: {"HostedOn": "tosca.relationships.HostedOn", "tosca:BindsTo": "tosca.relationships.network.BindsTo"},
			grammar.CapabilityType:   {"Endpoint.Admin": "tosca.capabilities.Endpoint.Admin", "Bindable": "tosca.capabilities.network.Bindable"},
			grammar.InterfaceType:    {"Standard": "tosca.interfaces.node.lifecycle.Standard", "tosca:Configure": "tosca.interfaces.relationship.Configure"},
			grammar.ArtifactType:     {"Bash": "tosca.artifacts.Implementation.Bash", "tosca:File": "tosca.artifacts.File"},
			grammar.DataType:         {"Credential": "tosca.datatypes.Credential", "tosca:PortDef": "tosca.datatypes.network.PortDef", "json": "tosca.datatypes.json"},
			grammar.GroupType:        {"tosca:Root": "tosca.groups.Root"},
			grammar.PolicyType:       {"Scaling": "tosca.policies.Scaling"},
		} {
			for name, want := range names {
				if got := scope.Lookup(kind, name); got == nil || got.Name != want {
					t.Errorf("%s: %s %q is %v, not %q", version, kind, name, got, want)
				}
			}
			if got := scope.Lookup(kind, "tosca:Nothing"); got != nil {
				t.Errorf("%s: %s tosca:Nothing is %v", version, kind, got)
			}
		}
	}
}

func TestDocumentsOf20KnowNoTypesThatTheyDoNotImport(t *testing.T) {
	t.Parallel()
	docs, _ := load(t, &txtar.Archive{Files: []txtar.File{{Name: "app.yaml", Data: []byte("tosca_definitions_version: tosca_2_0\n")}}})
	for kind := grammar.NodeType; kind <= grammar.PolicyType; kind++ {
		if names := docs[0].Scope().Names(kind); len(names) > 0 {
			t.Errorf("%s: %v", kind, names)
		}
	}
}

// FuzzLoad: a document or a diagnostic comes of whatever is written.
func FuzzLoad(f *testing.F) {
	for _, dir := range []string{"read", "wrong", "scope"} {
		paths, _ := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
		for _, path := range paths {
			if txt, err := txtar.ParseFile(path); err == nil {
				f.Add(txt.Files[0].Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, list := load(t, &txtar.Archive{Files: []txtar.File{
			{Name: "app.yaml", Data: data}, {Name: "types.yaml", Data: []byte("tosca_definitions_version: tosca_2_0\nprofile: p\n")},
		}})
		if len(docs) == 0 {
			t.Fatal("no document")
		}
		if docs[0].Version == "" && docs[0].Topology == nil && !list.HasErrors() {
			t.Fatal("nothing was read, and nothing said")
		}
		for _, d := range list {
			if d.Code == "" || d.Message == "" || d.Severity == diag.Error && d.File == "" {
				t.Fatalf("%#v", d)
			}
		}
	})
}

func TestFilesThatImportEachOtherWithoutEndAreRefused(t *testing.T) {
	t.Parallel()
	// Each file has its types once, and the names of those after it once more.
	name := func(i int) string {
		return map[bool]string{true: "app.yaml", false: fmt.Sprintf("f%d.yaml", i)}[i == 0]
	}
	chain := func(files, types int) *txtar.Archive {
		txt := &txtar.Archive{}
		for i := range files {
			var b strings.Builder
			fmt.Fprintf(&b, "tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [{file: %s, namespace_prefix: p}]\nnode_types:\n", name((i+1)%files))
			for j := range types {
				fmt.Fprintf(&b, "  t%d: {derived_from: tosca.nodes.Root}\n", j)
			}
			txt.Files = append(txt.Files, txtar.File{Name: name(i), Data: []byte(b.String())})
		}
		return txt
	}
	for files, want := range map[int]int{30: 0, 300: 1} {
		docs, list := load(t, chain(files, 30))
		if len(list) != want || want > 0 && list[0].Code != "TOSCA-IMP-004" {
			t.Errorf("%d files: %v", files, list)
		}
		if last := docs[files-1].Scope(); last.Lookup(grammar.NodeType, "t29") == nil || last.Lookup(grammar.NodeType, "tosca.nodes.Root") == nil {
			t.Errorf("the last of %d files does not know its own types", files)
		}
	}
}
