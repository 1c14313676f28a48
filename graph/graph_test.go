package graph_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/graph"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

func load(t *testing.T, path string) *spec.Application {
	t.Helper()
	a, err := csar.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	app, _, err := tosca.Load(t.Context(), a, tosca.Options{Draft: true})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// element is what of XML the tests look at.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func parse(t *testing.T, svg []byte) element {
	t.Helper()
	var root element
	dec := xml.NewDecoder(bytes.NewReader(svg))
	if err := dec.Decode(&root); err != nil {
		t.Fatalf("no XML: %v", err)
	}
	if _, err := dec.Token(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("no XML: %v", err)
	}
	return root
}

func (e element) walk(see func(element)) {
	see(e)
	for _, child := range e.Children {
		child.walk(see)
	}
}

func TestPictures(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"thinking": filepath.Join("..", "examples", "thinking"),
		"single":   filepath.Join("testdata", "single.yaml"),
		"foreign":  filepath.Join("testdata", "foreign.yaml"),
		"twelve":   filepath.Join("testdata", "twelve.yaml"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := load(t, path)
			opts := graph.Options{Protocols: graph.Small(app)}
			svg := graph.SVG(app, opts)
			parse(t, svg)
			golden(t, name+".svg", svg)
			golden(t, name+".dot", graph.DOT(app, opts))
			golden(t, name+".mmd", graph.Mermaid(app, opts))
			if again := graph.SVG(load(t, path), opts); !bytes.Equal(svg, again) {
				t.Error("the same document gave another picture")
			}
		})
	}
}

func TestSmallApplicationsShowTheirProtocols(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{0: true, 4: true, 5: false} {
		if got := graph.Small(&spec.Application{Components: make([]spec.Component, n)}); got != want {
			t.Errorf("%d components: %v", n, got)
		}
	}
}

func TestNoTextBecomesMarkup(t *testing.T) {
	t.Parallel()
	evil := `</text><script>"x" & 'y' \ #; end` + "\n\x01]]>"
	app := &spec.Application{
		Name:  evil,
		Nodes: []spec.Node{{Name: evil, Type: evil, Image: spec.Image{Name: evil}, Storage: []spec.Storage{{Volume: "v", Location: evil}}}},
		Components: []spec.Component{{Name: "c", Type: evil, Host: evil, Node: evil, Protocol: protocol.Protocol{
			Initial: evil, States: []protocol.State{{Name: evil, Offers: []string{evil}}},
			Transitions: []protocol.Transition{{Source: evil, Target: evil, Operation: protocol.Operation{Interface: evil, Name: evil}}},
		}}},
		Volumes: []spec.Volume{{Name: "v", Type: evil}},
	}
	opts := graph.Options{Protocols: true}
	parse(t, graph.SVG(app, opts)).walk(func(e element) {
		if e.XMLName.Local == "script" {
			t.Error("there is a script in the picture")
		}
	})
	if got := strings.ReplaceAll(string(graph.DOT(app, opts)), `\\`, ""); strings.Count(strings.ReplaceAll(got, `\"`, ""), `"`)%2 != 0 {
		t.Errorf("a string is not closed in\n%s", got)
	}
	for line := range strings.Lines(string(graph.Mermaid(app, opts))) {
		if strings.Count(line, `"`)%2 != 0 || strings.ContainsAny(strings.ReplaceAll(line, "<br/>", ""), "<\\\x01") {
			t.Errorf("a text is not escaped in %q", line)
		}
	}
}

// What Mermaid takes for the name of a node, and no word of its own.
func TestMermaidNamesAreNamesToIt(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`^ *(subgraph )?[a-z]+[0-9]+(state[0-9]+)?[\[({]|^ *[a-z]+[0-9]+(state[0-9]+)? (-->|-\.->|==>)(\|"[^"]*"\|)? [a-z]+[0-9]+(state[0-9]+)?$|^ *end$|^flowchart LR$|^ *%%`)
	for _, path := range []string{filepath.Join("..", "examples", "thinking"), filepath.Join("testdata", "foreign.yaml"), filepath.Join("testdata", "twelve.yaml")} {
		for line := range strings.Lines(string(graph.Mermaid(load(t, path), graph.Options{Protocols: true}))) {
			if !names.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Errorf("%s: Mermaid does not read %q", path, line)
			}
		}
	}
}

// Names that look the same are still of different nodes.
func TestHiddenCharactersKeepNodesApart(t *testing.T) {
	t.Parallel()
	app := &spec.Application{Name: "x", Nodes: []spec.Node{{Name: "a\x1b", Connections: []string{"a\u009b"}}, {Name: "a\u009b"}}}
	for format, draw := range graph.Formats() {
		if got := string(draw(app, graph.Options{})); strings.ContainsAny(got, "\x1b\u009b") {
			t.Errorf("%s: %q", format, got)
		}
	}
	if got := string(graph.DOT(app, graph.Options{})); !strings.Contains(got, `"container 1" -> "container 2"`) {
		t.Errorf("the nodes are one in\n%s", got)
	}
}

func TestOddTopologiesAreDrawn(t *testing.T) {
	t.Parallel()
	apps := map[string]*spec.Application{
		"nothing": {Name: "nothing"},
		"a component that dials its own container, and its host": {
			Nodes: []spec.Node{{Name: "n", Connections: []string{"inner"}}},
			Components: []spec.Component{
				{Name: "host", Host: "n", Node: "n", Connections: []string{"inner"}},
				{Name: "inner", Host: "host", Node: "n", Connections: []string{"host", "n"}},
			},
		},
		"a component without a host": {Components: []spec.Component{{Name: "c", Connections: []string{"gone"}}}},
		"a cycle": {Nodes: []spec.Node{
			{Name: "a", Connections: []string{"b"}}, {Name: "b", Connections: []string{"c"}}, {Name: "c", Connections: []string{"a"}},
		}},
	}
	for name, app := range apps {
		for format, draw := range graph.Formats() {
			if len(draw(app, graph.Options{Protocols: true})) == 0 {
				t.Errorf("%s: no %s", name, format)
			}
		}
		if got := string(graph.SVG(app, graph.Options{Protocols: true})); strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
			t.Errorf("%s: a place is no number in\n%s", name, got)
		}
	}
}

// TestBoxesDoNotOverlap looks at a topology with many lines: no two containers
// share a spot, and every component lies within a container.
func TestBoxesDoNotOverlap(t *testing.T) {
	t.Parallel()
	app := generated(40)
	type rect struct{ x, y, w, h float64 }
	var outer, inner []rect
	parse(t, graph.SVG(app, graph.Options{})).walk(func(e element) {
		var r rect
		class := ""
		for _, a := range e.Attrs {
			to := map[string]*float64{"x": &r.x, "y": &r.y, "width": &r.w, "height": &r.h}[a.Name.Local]
			if to != nil {
				*to, _ = strconv.ParseFloat(a.Value, 64)
			} else if a.Name.Local == "class" {
				class = a.Value
			}
		}
		switch class {
		case "container":
			outer = append(outer, r)
		case "component":
			inner = append(inner, r)
		}
	})
	if len(outer) != 40 || len(inner) != 80 {
		t.Fatalf("%d containers, %d components", len(outer), len(inner))
	}
	for i, a := range outer {
		for _, b := range outer[:i] {
			if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
				t.Errorf("%v and %v overlap", a, b)
			}
		}
	}
	for _, c := range inner {
		within := 0
		for _, o := range outer {
			if c.x > o.x && c.y > o.y && c.x+c.w < o.x+o.w && c.y+c.h < o.y+o.h {
				within++
			}
		}
		if within != 1 {
			t.Errorf("%v lies in %d containers", c, within)
		}
	}
}

func TestALargeTopologyIsDrawn(t *testing.T) {
	t.Parallel()
	app := generated(1500)
	if got := graph.SVG(app, graph.Options{}); bytes.Count(got, []byte(`class="container"`)) != 1500 {
		t.Error("containers are missing")
	}
}

// generated makes containers of two components each, the second of which
// connects to three others.
func generated(n int) *spec.Application {
	app := &spec.Application{Name: "generated"}
	for i := range n {
		box := fmt.Sprintf("box%d", i)
		app.Nodes = append(app.Nodes, spec.Node{Name: box, Image: spec.Image{Name: "busybox"}})
		app.Components = append(app.Components,
			spec.Component{Name: fmt.Sprintf("a%d", i), Host: box, Node: box},
			spec.Component{Name: fmt.Sprintf("b%d", i), Host: fmt.Sprintf("a%d", i), Node: box, Connections: []string{
				fmt.Sprintf("a%d", (i*7+3)%n), fmt.Sprintf("b%d", (i*5+1)%n), fmt.Sprintf("box%d", (i*3+2)%n),
			}})
	}
	return app
}

func TestPicturesOfDeepHostsGrowWithTheirNumber(t *testing.T) {
	t.Parallel()
	deep := func(n int) *spec.Application {
		app := &spec.Application{Name: "deep", Nodes: []spec.Node{{Name: "h"}}}
		on := "h"
		for i := range n {
			name := fmt.Sprintf("s%04d", i)
			app.Components = append(app.Components, spec.Component{Name: name, Host: on, Node: "h"})
			on = name
		}
		return app
	}
	for format, draw := range graph.Formats() {
		small, large := len(draw(deep(500), graph.Options{})), len(draw(deep(2000), graph.Options{}))
		if 10*large > 45*small {
			t.Errorf("%s of 500 components is %d bytes long, and of 2,000 it is %d", format, small, large)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	for format, draw := range graph.Formats() {
		for _, nodes := range []int{1000, 10000} {
			b.Run(fmt.Sprintf("%s/%d", format, nodes), func(b *testing.B) {
				app := generated(nodes / 2)
				b.ReportAllocs()
				for b.Loop() {
					draw(app, graph.Options{})
				}
			})
		}
	}
}
