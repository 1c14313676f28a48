package tosca_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
)

// decode reads what Encode wrote, as programs that read the output of inspect do.
func decode(data []byte) (*spec.Application, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	var app spec.Application
	return &app, dec.Decode(&app)
}

func TestAnInputKnowsItsValueWhereThePathsAreKnown(t *testing.T) {
	t.Parallel()
	pathOf := func(owner, artifact string) string { return "/apps/" + owner + "/" + artifact }
	for want, in := range map[string]spec.OperationInput{
		"plain":                 {Value: "plain"},
		"":                      {},
		"/apps/api/a.csv":       {Artifact: "a.csv", Owner: "api"},
		"file:///apps/api/a?x=": {Parts: []spec.InputPart{{Text: "file://"}, {Artifact: "a", Owner: "api"}, {Text: "?x="}}},
	} {
		if got := in.Resolve(pathOf); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

const header = "tosca_definitions_version: tosca_simple_yaml_1_0\nimports: [tosker-types.yaml]\n"

func TestInputsOfTheCallerMayHaveAnyType(t *testing.T) {
	t.Parallel()
	doc := header + `
topology_template:
  inputs:
    s: {type: string}
    i: {type: integer}
    f: {type: float}
    b: {type: boolean}
    l: {type: list}
    m: {type: map}
    any: {}
    unit: {type: scalar-unit.size}
  node_templates:
    v: {type: tosker.nodes.Volume}
`
	given := map[string]any{
		"s": "5", "i": 5, "f": 1.5, "b": true, "l": []string{"a"}, "m": map[string]any{"k": []any{nil, json.Number("7")}},
		"any": uint8(3), "unit": "10 MB",
	}
	app, _, err := tosca.Load(t.Context(), zipped(t, map[string]string{"app.yaml": doc}), tosca.Options{Inputs: given})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, in := range app.Inputs {
		got[in.Name] = in.Value
	}
	want := map[string]any{
		"s": "5", "i": json.Number("5"), "f": json.Number("1.5"), "b": true, "l": []any{"a"},
		"m": map[string]any{"k": []any{nil, json.Number("7")}}, "any": json.Number("3"), "unit": "10 MB",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	given["s"] = func() {}
	if _, _, err := tosca.Load(t.Context(), zipped(t, map[string]string{"app.yaml": doc}), tosca.Options{Inputs: given}); err == nil ||
		!strings.Contains(err.Error(), `input "s" cannot have this value`) {
		t.Errorf("a function is accepted as a value: %v", err)
	}
}

func generated(nodes int) string {
	var b strings.Builder
	b.WriteString(header + "topology_template:\n  node_templates:\n")
	for i := range nodes / 2 {
		fmt.Fprintf(&b, "    c%d:\n      type: tosker.nodes.Container\n      artifacts: {i: {file: busybox, type: tosker.artifacts.Image}}\n", i)
		fmt.Fprintf(&b, "    s%d:\n      type: tosker.nodes.Software\n      requirements:\n        - host: c%d\n", i, i)
		for j := 1; j < 6; j++ {
			fmt.Fprintf(&b, "        - connection: c%d\n", (i+j)%(nodes/2))
		}
		fmt.Fprintf(&b, "      interfaces: {Standard: {start: {implementation: run.sh, inputs: {x: %d}}}}\n", i)
	}
	return b.String()
}

func TestTheModelIsSortedByName(t *testing.T) {
	t.Parallel()
	app, _, err := tosca.Load(t.Context(), zipped(t, map[string]string{"app.yaml": generated(300), "run.sh": ""}), tosca.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, m := range app.Components {
		if i > 0 && app.Components[i-1].Name >= m.Name {
			t.Errorf("%q comes before %q", app.Components[i-1].Name, m.Name)
		}
		if seen[m.Name] = true; m.Host != "c"+m.Name[1:] {
			t.Errorf("component %q is hosted on %q", m.Name, m.Host)
		}
	}
	if len(seen) != 150 || len(app.Nodes) != 150 {
		t.Errorf("%d components and %d nodes", len(seen), len(app.Nodes))
	}
}

func BenchmarkLoad(b *testing.B) {
	b.Run("thinking", func(b *testing.B) {
		defer reportUsage(b)()
		for b.Loop() {
			load(b, func() (*csar.Archive, error) { return csar.Open(filepath.Join("..", "examples", "thinking")) })
		}
	})
	for _, nodes := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			a := zipped(b, map[string]string{"app.yaml": generated(nodes), "run.sh": ""})
			b.ReportAllocs()
			defer reportUsage(b)()
			for b.Loop() {
				load(b, func() (*csar.Archive, error) { return a, nil })
			}
		})
	}
}

// reportUsage adds to a benchmark what it took of the processors, which other
// programs do not change much, and the most memory that the process ever had.
func reportUsage(b *testing.B) func() {
	b.Helper()
	usage := func() (cpu time.Duration, peak int64) {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss
	}
	before, _ := usage()
	return func() {
		after, peak := usage()
		b.ReportMetric(float64(after-before)/float64(time.Millisecond)/float64(b.N), "cpu-ms/op")
		b.ReportMetric(float64(peak)/1024, "peak-MB")
	}
}

func load(tb testing.TB, open func() (*csar.Archive, error)) {
	tb.Helper()
	a, err := open()
	if err != nil {
		tb.Fatal(err)
	}
	defer a.Close()
	if _, _, err := tosca.Load(context.Background(), a, tosca.Options{}); err != nil {
		tb.Fatal(err)
	}
}

func TestHostileTopologiesAreRefused(t *testing.T) {
	t.Parallel()
	var props, templates strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&props, "      p%d: {type: string, default: x}\n", i)
		fmt.Fprintf(&templates, "    v%d: {type: my.Vol}\n", i)
	}
	docs := map[string]string{
		"TOSCA-VAL-005 app.yaml: the document is too large once its types and functions are worked out": header + "node_types:\n  my.Vol:\n    derived_from: tosker.nodes.Volume\n    properties:\n" +
			props.String() + "topology_template:\n  node_templates:\n" + templates.String(),
		"TOSCA-TYPE-001": header + "topology_template:\n  node_templates:\n" + strings.ReplaceAll(templates.String(), "my.Vol", "tosker.nodes.Volum"),
	}
	for code, doc := range docs {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			app, list, err := tosca.Load(t.Context(), zipped(t, map[string]string{"app.yaml": doc}), tosca.Options{})
			if err == nil || app != nil || len(list) == 0 {
				t.Fatalf("accepted: %v", err)
			}
			for _, d := range list {
				if want, sentence, said := strings.Cut(code, " "); d.Code != want || said && d.Error() != sentence {
					t.Fatal(d)
				}
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	for _, dir := range []string{"valid", "invalid", "draft", "standard/valid", "standard/invalid"} {
		paths, _ := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
		for _, path := range paths {
			if doc, err := entryOf(path); err == nil {
				f.Add(doc)
			}
		}
	}
	f.Add([]byte(header + "topology_template: {node_templates: {v: {type: tosker.nodes.Volume}}}\n"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		a := zipped(t, map[string]string{"app.yaml": string(doc), "scripts/run.sh": "#!/bin/sh\n", "types.yaml": header})
		inputs := map[string]any{"x": "1"}
		draft, list, err := tosca.Load(t.Context(), a, tosca.Options{Inputs: inputs, Draft: true})
		if (draft == nil) == (err == nil) || (err != nil) != list.HasErrors() {
			t.Fatalf("a draft: application %v, error %v, list %v", draft != nil, err, list)
		}
		if draft != nil {
			tosca.Describe(draft)
		}
		app, list, err := tosca.Load(t.Context(), a, tosca.Options{Inputs: inputs})
		if (app == nil) == (err == nil) || (err != nil) != list.HasErrors() {
			t.Fatalf("application %v, error %v, list %v", app != nil, err, list)
		}
		if app == nil {
			return
		}
		data, err := spec.Encode(app)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(data)
		if err != nil {
			t.Fatalf("cannot decode %s: %v", data, err)
		}
		if twice, err := spec.Encode(again); err != nil || !bytes.Equal(data, twice) {
			t.Fatalf("JSON changes:\n%s\n%s", data, twice)
		}
	})
}
