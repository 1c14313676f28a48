package tosca_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/diag/report"
)

// lines writes a line for each number below n: %[1]d in it is the number, %[2]d
// the next one, and that of the last is 0.
func lines(n int, line string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, line, i, (i+1)%n)
	}
	return b.String()
}

const (
	simple    = "tosca_definitions_version: tosca_simple_yaml_1_3\n"
	templates = "topology_template:\n  node_templates:\n"
	image     = "artifacts: {i: {file: busybox, type: tosker.artifacts.Image}}"
	text      = "node_types:\n  my: {derived_from: tosca.nodes.Root, properties: {p: {type: string}}}\n"
	calls     = "interface_types:\n  i:\n    derived_from: tosca.interfaces.Root\n    operations:\n"
	root      = "{derived_from: tosca.nodes.Root}\n"
)

func lone(doc func(n int) string) func(n int) map[string]string {
	return func(n int) map[string]string { return map[string]string{"app.yaml": doc(n), "run.sh": "#!/bin/sh\n"} }
}

// shapes are documents in which one thing is there n times.
var shapes = map[string]func(n int) map[string]string{
	"components of one host": lone(func(n int) string {
		return header + templates + "    h: {type: tosker.nodes.Container, " + image + "}\n" + lines(n, "    s%[1]d: {type: tosker.nodes.Software, requirements: [{host: h}]}\n")
	}),
	"components on each other": lone(func(n int) string {
		return header + templates + "    s: {type: tosker.nodes.Container, " + image + "}\n" +
			strings.Replace(lines(n, "    s%[1]d: {type: tosker.nodes.Software, requirements: [{host: s%[2]d}]}\n"), "host: s0}", "host: s}", 1)
	}),
	"connections of one component": lone(func(n int) string {
		return header + templates + lines(n, "    c%[1]d: {type: tosker.nodes.Container, "+image+"}\n") +
			"    s:\n      type: tosker.nodes.Software\n      requirements:\n        - host: c0\n" + lines(n, "        - connection: c%[1]d\n")
	}),
	"types, each derived from the one before in tens": lone(func(n int) string {
		return simple + "node_types:\n" + lines(n/10, "  t%[1]d0: "+root+"  t%[1]d1: {derived_from: t%[1]d0}\n  t%[1]d2: {derived_from: t%[1]d1}\n  t%[1]d3: {derived_from: t%[1]d2}\n") +
			templates + lines(n/10, "    x%[1]d: {type: t%[1]d3}\n")
	}),
	"inputs": lone(func(n int) string {
		return simple + text + "topology_template:\n  inputs:\n" + lines(n, "    i%[1]d: {type: string, default: x}\n") + "  node_templates:\n" +
			lines(n, "    x%[1]d: {type: my, properties: {p: {get_input: i%[1]d}}}\n")
	}),
	"outputs": lone(func(n int) string {
		return simple + templates + "    x: {type: tosca.nodes.Root}\n  outputs:\n" + lines(n, "    o%[1]d: {value: {get_attribute: [x, tosca_id]}}\n")
	}),
	"candidates of a filter": lone(func(n int) string {
		return simple + text + "  from: {derived_from: tosca.nodes.Root, requirements: [{r: {capability: tosca.capabilities.Node, node: my}}]}\n" + templates +
			lines(n, "    x%[1]d: {type: my, properties: {p: v%[1]d}}\n") + "    f: {type: from, requirements: [{r: {node_filter: {properties: [{p: {equal: v1}}]}}}]}\n"
	}),
	"groups": lone(func(n int) string {
		return simple + templates + lines(n, "    x%[1]d: {type: tosca.nodes.Root}\n") + "  groups:\n" + lines(n, "    g%[1]d: {type: tosca.groups.Root, members: [x%[1]d, x%[2]d]}\n")
	}),
	"values in each other": lone(func(n int) string {
		deep := "{type: map, required: false, entry_schema: {type: map}}"
		return simple + strings.Replace(text, "{type: string}", deep, 1) + templates +
			lines(n, "    x%[1]d: {type: my, properties: {p: "+strings.Repeat("{a: ", 20)+"{}"+strings.Repeat("}", 20)+"}}\n")
	}),
	"misspelled hosts": lone(func(n int) string {
		return header + templates + lines(n, "    container_number_%[1]d: {type: tosker.nodes.Container, "+image+"}\n"+
			"    software_number_%[1]d: {type: tosker.nodes.Software, requirements: [{host: container_numbre_%[1]d}]}\n")
	}),
	"misspelled types": lone(func(n int) string {
		return simple + "node_types:\n" + lines(n, "  some.type%[1]d: "+root) + templates + lines(n, "    x%[1]d: {type: some.tyep%[1]d}\n")
	}),
	"misspelled inputs": lone(func(n int) string {
		return simple + text + "topology_template:\n  inputs:\n" + lines(n, "    input%[1]d: {type: string, default: x}\n") + "  node_templates:\n" +
			lines(n, "    x%[1]d: {type: my, properties: {p: {get_input: inptu%[1]d}}}\n")
	}),
	"misspelled keywords": lone(func(n int) string {
		return simple + templates + lines(n, "    x%[1]d: {type: tosca.nodes.Root, propertis: {}}\n")
	}),
	"problems in one line": lone(func(n int) string {
		return simple + "topology_template: {node_templates: {" + lines(n, "x%[1]d: {type: none}, ") + "}}\n"
	}),
	"properties that are mapped": lone(func(n int) string {
		return simple + "node_types:\n  my:\n    derived_from: tosca.nodes.Root\n    properties:\n" + lines(n, "      p%[1]d: {type: string}\n") +
			"topology_template:\n  inputs:\n" + lines(n, "    i%[1]d: {type: string, default: a}\n") + "  node_templates: {x: {type: tosca.nodes.Root}}\n" +
			"  substitution_mappings:\n    node_type: my\n    properties:\n" + lines(n, "      p%[1]d: [i%[1]d]\n")
	}),
	"interfaces": lone(func(n int) string {
		return simple + "node_types:\n  my:\n    derived_from: tosca.nodes.Root\n    interfaces:\n" + lines(n, "      f%[1]d: {type: tosca.interfaces.node.lifecycle.Standard}\n") +
			templates + "    x:\n      type: my\n      interfaces:\n" + lines(n, "        f%[1]d: {operations: {start: run.sh}}\n")
	}),
	"operations that name artifacts": lone(func(n int) string {
		return simple + calls + lines(n, "      o%[1]d: {}\n") + "node_types:\n  my: {derived_from: tosca.nodes.Root, interfaces: {f: {type: i}}}\n" +
			templates + "    x:\n      type: my\n      artifacts:\n" + lines(n, "        a%[1]d: {file: run.sh, type: tosca.artifacts.File}\n") +
			"      interfaces:\n        f:\n          operations:\n" + lines(n, "            o%[1]d: a%[1]d\n")
	}),
	"steps": lone(func(n int) string {
		return simple + templates + "    x: {type: tosca.nodes.Root}\n  workflows:\n    w:\n      steps:\n" +
			lines(n, "        s%[1]d: {target: x, activities: [{set_state: a}], on_success: [s%[2]d]}\n")
	}),
	"volumes of one container": lone(func(n int) string {
		return header + templates + lines(n, "    v%[1]d: {type: tosker.nodes.Volume}\n") + "    c:\n      type: tosker.nodes.Container\n      " + image + "\n      requirements:\n" +
			lines(n, "        - storage: {node: v%[1]d, relationship: {type: tosca.relationships.AttachesTo, properties: {location: /v%[1]d}}}\n")
	}),
	"imported files": func(n int) map[string]string {
		files := map[string]string{"app.yaml": simple + "imports:\n" + lines(n/10, "  - t%[1]d.yaml\n") + templates + lines(n, "    x%[1]d: {type: t0}\n")}
		for i := range n / 10 {
			files[fmt.Sprintf("t%d.yaml", i)] = fmt.Sprintf(simple+"node_types: {t%d: {derived_from: tosca.nodes.Root}}\n", i)
		}
		return files
	},
}

// validate does what `toskose validate` and `toskose inspect` do.
func validate(tb testing.TB, a *csar.Archive, source []byte) {
	tb.Helper()
	app, list, err := tosca.Load(tb.Context(), a, tosca.Options{Draft: true})
	var bad diag.List
	if err != nil && !errors.As(err, &bad) {
		tb.Fatal(err)
	}
	if err := report.Text(io.Discard, list, report.Options{Source: func(string) ([]byte, error) { return source, nil }}); err != nil {
		tb.Fatal(err)
	}
	if app != nil {
		tosca.Describe(app)
	}
}

// It is not parallel: what it counts is of the whole process.
func TestMemoryGrowsNoFasterThanTheDocument(t *testing.T) {
	const n = 500
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		taken := func(n int) uint64 {
			files := shapes[name](n)
			a := zipped(t, files)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			validate(t, a, []byte(files["app.yaml"]))
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		taken(1) // what is made once
		if once, fourfold := taken(n), taken(4*n); 10*fourfold > 46*once {
			t.Errorf("%s: %d take %d KB, and %d take %d KB", name, n, once>>10, 4*n, fourfold>>10)
		}
	}
}

// It is not parallel, as above.
func TestADefaultThatManyNodesHaveIsLookedAtOnce(t *testing.T) {
	const nodes, entries = 200, 5000
	a := zipped(t, map[string]string{"app.yaml": simple + "node_types:\n  my: {derived_from: tosca.nodes.Root, properties: {p: {type: list, entry_schema: integer, default: [" +
		strings.Repeat("1,", entries) + "]}}}\n" + templates + lines(nodes, "    x%[1]d: {type: my}\n")})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, list, err := tosca.Load(t.Context(), a, tosca.Options{Draft: true}); err != nil {
		t.Fatal(err, list)
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 70*nodes*entries { // the model has them for each, in JSON's types
		t.Errorf("a default of %d entries takes %d KB for %d nodes", entries, taken>>10, nodes)
	}
}

func BenchmarkShapes(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		for _, n := range []int{1000, 10000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				files := shapes[name](n)
				a := zipped(b, files)
				b.ReportAllocs()
				defer reportUsage(b)()
				for b.Loop() {
					validate(b, a, []byte(files["app.yaml"]))
				}
			})
		}
	}
}
