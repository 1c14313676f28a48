package view

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/toskose/toskose/manager/rest"
)

// TestAnApplicationThatIsEncodedInPartsIsAsIfItWereWhole changes nodes of applications,
// as views are made: a node that changes is made anew with its components.
func TestAnApplicationThatIsEncodedInPartsIsAsIfItWereWhole(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	made := 0
	node := func(name string) (rest.Node, []rest.Component) {
		made++
		n := rest.Node{Name: name, Image: fmt.Sprint(made), Replicas: make([]rest.Replica, dice.IntN(3))}
		components := make([]rest.Component, dice.IntN(3))
		for i := range components {
			components[i] = rest.Component{Name: fmt.Sprint(name, i), State: fmt.Sprint(made), Replicas: make([]rest.ComponentReplica, dice.IntN(3))}
		}
		return n, components
	}
	var e Encoder
	texts := map[[sha256.Size]byte]string{}
	for range 50 {
		nodes, components := make([]rest.Node, dice.IntN(4)), [4][]rest.Component{}
		for i := range nodes {
			nodes[i], components[i] = node(fmt.Sprint("n", i))
		}
		for range 10 {
			app := rest.App{Name: "x", Description: "\n  \"components\": null\n  \"nodes\": null", Nodes: append([]rest.Node{}, nodes...), Components: []rest.Component{}, Volumes: []rest.Volume{}}
			for _, of := range components {
				app.Components = append(app.Components, of...)
			}
			whole, err := json.MarshalIndent(app, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			whole = append(whole, '\n')
			for range 2 {
				got := e.Encode(app)
				if string(got.JSON) != string(whole) {
					t.Fatalf("got:\n%s\nwant:\n%s", got.JSON, whole)
				}
				if before, seen := texts[got.Sum]; seen && before != string(whole) {
					t.Fatalf("one hash for\n%s\nand\n%s", before, whole)
				}
				texts[got.Sum] = string(whole)
			}
			if len(nodes) > 0 {
				i := dice.IntN(len(nodes))
				nodes[i], components[i] = node(nodes[i].Name)
			}
		}
	}
}
