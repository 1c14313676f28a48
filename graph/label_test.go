package graph_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/toskose/toskose/graph"
	"github.com/toskose/toskose/spec"
)

type area struct{ x, y, w, h float64 }

func (a area) overlaps(b area) bool {
	return a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h
}

// labelled has what makes labels meet: volumes that many use, nodes that depend
// on each other both ways, and on neighbours in one host.
func labelled() *spec.Application {
	uses := func(all ...string) (storage []spec.Storage) {
		for i := 0; i < len(all); i += 2 {
			storage = append(storage, spec.Storage{Volume: all[i], Location: all[i+1]})
		}
		return storage
	}
	needs := func(all ...string) (required []spec.Reach) {
		for _, name := range all {
			required = append(required, spec.Reach{Name: "dependency", Target: name})
		}
		return required
	}
	return &spec.Application{
		Name: "shop", Version: "1",
		Nodes: []spec.Node{
			{Name: "a", Storage: uses("data", "/a", "logs", "/var/log")},
			{Name: "b", Storage: uses("data", "/b")},
			{Name: "c", Storage: uses("data", "/c", "logs", "/l")},
		},
		Components: []spec.Component{{Name: "s", Host: "a", Node: "a", Connections: []string{"t"}}, {Name: "t", Host: "b", Node: "b"}},
		Volumes:    []spec.Volume{{Name: "data"}, {Name: "logs"}},
		Others: []spec.Other{
			{Name: "h"},
			{Name: "i", Host: "h", Requirements: needs("j")},
			{Name: "j", Host: "h", Requirements: needs("x")},
			{Name: "x", Requirements: needs("y", "z")},
			{Name: "y", Requirements: needs("x", "z")},
			{Name: "z", Requirements: needs("x", "y")},
		},
	}
}

func TestLabelsHaveAPlaceOfTheirOwn(t *testing.T) {
	t.Parallel()
	var labels, boxes []area
	parse(t, graph.SVG(labelled(), graph.Options{})).walk(func(e element) {
		value := map[string]string{}
		for _, a := range e.Attrs {
			value[a.Name.Local] = a.Value
		}
		number := func(name string) float64 { n, _ := strconv.ParseFloat(value[name], 64); return n }
		switch {
		case value["class"] == "line label":
			a := area{number("x"), number("y") - 9, 5 * float64(len(e.Text)), 11}
			if value["text-anchor"] == "end" {
				a.x -= a.w
			}
			labels = append(labels, a)
		case e.XMLName.Local == "rect" && value["class"] == "component" && number("h") < 60:
			boxes = append(boxes, area{number("x"), number("y"), number("width"), number("height")})
		}
	})
	if len(labels) != 13 || len(boxes) != 8 {
		t.Fatalf("%d labels, %d boxes", len(labels), len(boxes))
	}
	for i, a := range labels {
		for _, b := range labels[:i] {
			if a.overlaps(b) {
				t.Errorf("labels %v and %v overlap", a, b)
			}
		}
		for _, b := range boxes {
			host := a.x > b.x && a.y > b.y && a.x+a.w < b.x+b.w && a.y+a.h < b.y+b.h // of an arrow within it
			if a.overlaps(b) && !host {
				t.Errorf("label %v overlaps box %v", a, b)
			}
		}
	}
}

// Who cannot see the picture is told what it is of (SVG 2, 5.7 and 14).
func TestAPictureIsDescribed(t *testing.T) {
	t.Parallel()
	for want, app := range map[string]*spec.Application{
		"A topology: 3 containers, 2 components, 2 volumes, 6 node templates, 1 connection, 8 dependencies, 5 uses of volumes.": labelled(),
		"A topology: 1 container.":          {Nodes: []spec.Node{{Name: "n"}}},
		"There is nothing in the topology.": {},
		"A topology: 1 container, 1 volume, 1 use of a volume.": {
			Nodes: []spec.Node{{Name: "n", Storage: []spec.Storage{{Volume: "v"}}}}, Volumes: []spec.Volume{{Name: "v"}},
		},
	} {
		root := parse(t, graph.SVG(app, graph.Options{}))
		byID := map[string]string{}
		root.walk(func(e element) {
			for _, a := range e.Attrs {
				if a.Name.Local == "id" {
					byID[a.Value] = e.XMLName.Local + " " + strings.TrimSpace(e.Text)
				}
			}
		})
		named := ""
		for _, a := range root.Attrs {
			if a.Name.Local == "aria-labelledby" {
				named = a.Value
			}
		}
		if named != "title desc" || byID["desc"] != "desc "+want || !strings.HasPrefix(byID["title"], "title") {
			t.Errorf("described as %q by %q, not as %q", byID["desc"], named, want)
		}
	}
}
