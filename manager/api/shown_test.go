package api

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/toskose/toskose/manager/view"
)

// TestAnApplicationThatIsEncodedInPartsIsAsIfItWereWhole changes nodes of applications,
// as views are made: a node that changes is made anew with its components.
func TestAnApplicationThatIsEncodedInPartsIsAsIfItWereWhole(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	made := 0
	node := func(name string) (view.Node, []view.Component) {
		made++
		n := view.Node{Name: name, Image: fmt.Sprint(made), Replicas: make([]view.Replica, dice.IntN(3))}
		components := make([]view.Component, dice.IntN(3))
		for i := range components {
			components[i] = view.Component{Name: fmt.Sprint(name, i), State: fmt.Sprint(made), Replicas: make([]view.ComponentReplica, dice.IntN(3))}
		}
		return n, components
	}
	var s shown
	tags := map[string]string{}
	for range 50 {
		nodes, components := make([]view.Node, dice.IntN(4)), [4][]view.Component{}
		for i := range nodes {
			nodes[i], components[i] = node(fmt.Sprint("n", i))
		}
		for range 10 {
			app := view.App{Name: "x", Description: "\n  \"components\": null\n  \"nodes\": null", Nodes: append([]view.Node{}, nodes...), Components: []view.Component{}, Volumes: []view.Volume{}}
			for _, of := range components {
				app.Components = append(app.Components, of...)
			}
			_, whole := encode("", app)
			for range 2 {
				got := s.encode(app)
				if string(got.data) != string(whole) {
					t.Fatalf("got:\n%s\nwant:\n%s", got.data, whole)
				}
				if before, known := tags[got.tag]; known && before != string(whole) {
					t.Fatalf("one tag for\n%s\nand\n%s", before, whole)
				}
				tags[got.tag] = string(whole)
			}
			if len(nodes) > 0 {
				i := dice.IntN(len(nodes))
				nodes[i], components[i] = node(nodes[i].Name)
			}
		}
	}
}
