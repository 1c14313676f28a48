package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/toskose/toskose/graph"
	"github.com/toskose/toskose/internal/dice"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
)

// point is one of a line.
type point struct{ x, y float64 }

// walk returns points along a path, which are a pixel apart at most: of absolute lines
// and curves, M, H, V, L, Q and C.
func walk(t *testing.T, path string) (all []point) {
	t.Helper()
	var at point
	for _, part := range commands(path) {
		numbers := coordinates(t, part[1:])
		to := []point{at}
		switch part[0] {
		case 'H':
			to = append(to, point{numbers[0], at.y})
		case 'V':
			to = append(to, point{at.x, numbers[0]})
		case 'M', 'L', 'Q', 'C':
			for i := 0; i < len(numbers); i += 2 {
				to = append(to, point{numbers[i], numbers[i+1]})
			}
		default:
			t.Fatalf("%c in %s", part[0], path)
		}
		at = to[len(to)-1]
		if part[0] == 'M' {
			continue
		}
		long := 0.0
		for i := range to[1:] {
			long += math.Hypot(to[i+1].x-to[i].x, to[i+1].y-to[i].y)
		}
		for i := range int(long) + 2 {
			all = append(all, between(to, float64(i)/float64(int(long)+1)))
		}
	}
	return all
}

// commands cuts a path before each letter.
func commands(path string) (all []string) {
	for _, field := range strings.Fields(path) {
		if c := field[0]; c >= 'A' && c <= 'Z' {
			all = append(all, field)
		} else {
			all[len(all)-1] += " " + field
		}
	}
	return all
}

func coordinates(t *testing.T, text string) (all []float64) {
	t.Helper()
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// between is de Casteljau's.
func between(all []point, part float64) point {
	if len(all) == 1 {
		return all[0]
	}
	next := make([]point, len(all)-1)
	for i := range next {
		next[i] = point{all[i].x + part*(all[i+1].x-all[i].x), all[i].y + part*(all[i+1].y-all[i].y)}
	}
	return between(next, part)
}

// crowded returns what of a diagram touches something else: labels, arrows and states,
// which are two pixels apart at least.
func crowded(t *testing.T, d graph.Diagram) (all []string) {
	t.Helper()
	const size, gap = 11, 1.5
	whole := area{0, 0, d.Width, d.Height}
	var labels, states []area
	for _, s := range d.States {
		states = append(states, area{s.X, s.Y, s.W, s.H})
	}
	for _, a := range d.Arrows {
		w := graph.Width(a.Label.Text, size)
		l := area{a.Label.X - w/2, a.Label.Y - .8*size, w, size}
		if l.x < 0 || l.y < 0 || l.x+l.w > d.Width || l.y+l.h > d.Height {
			all = append(all, fmt.Sprintf("%q is not in the picture: %v in %v", a.Label.Text, l, whole))
		}
		for i, o := range labels {
			if l.overlaps(o) {
				all = append(all, fmt.Sprintf("%q is on %q", a.Label.Text, d.Arrows[i].Label.Text))
			}
		}
		for i, s := range states {
			if l.overlaps(s) {
				all = append(all, fmt.Sprintf("%q is on the state %s", a.Label.Text, d.States[i].Name))
			}
		}
		labels = append(labels, l)
	}
	for i, l := range labels {
		around := area{l.x - gap, l.y - gap, l.w + 2*gap, l.h + 2*gap}
		for _, a := range d.Arrows {
			for _, p := range walk(t, a.Path) {
				if p.x > around.x && p.x < around.x+around.w && p.y > around.y && p.y < around.y+around.h {
					all = append(all, fmt.Sprintf("%q touches the arrow %s from %s to %s", d.Arrows[i].Label.Text, a.Label.Text, a.From, a.To))
					break
				}
			}
		}
	}
	return all
}

// varied is a protocol of some states with transitions as they fall: also loops, several
// between the same states, faults, and names of many lengths.
func varied(random *rand.Rand) protocol.Protocol {
	states := 1 + random.IntN(7)
	p := protocol.Protocol{Initial: "s0"}
	name := func(i int) string { return "s" + strings.Repeat("t", i*i%13) + strconv.Itoa(i) }
	for i := range states {
		p.States = append(p.States, protocol.State{Name: name(i)})
	}
	p.Initial = name(0)
	for i := range random.IntN(3 * states) {
		operation := protocol.Operation{Interface: protocol.Standard, Name: "o" + strings.Repeat("p", random.IntN(20)) + strconv.Itoa(i)}
		if random.IntN(3) == 0 {
			operation.Interface = "an_interface"
		}
		p.Transitions = append(p.Transitions, protocol.Transition{Source: name(random.IntN(states)), Target: name(random.IntN(states)), Operation: operation})
	}
	for i := range states {
		if random.IntN(4) == 0 {
			p.FaultHandlers = append(p.FaultHandlers, protocol.FaultHandler{Source: name(i), Target: name(random.IntN(states))})
		}
	}
	return p
}

func TestNothingOfAStateDiagramTouchesALabel(t *testing.T) {
	t.Parallel()
	all := map[string]protocol.Protocol{"software": protocol.Software(), "container": protocol.Container(), "hosting": protocol.Container().Hosting()}
	folders, err := os.ReadDir("../examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if folder.Name() == "plant" { // resources of the operator, without a topology
			continue
		}
		archive, err := csar.Open("../examples/" + folder.Name())
		if err != nil {
			continue // of something else
		}
		defer archive.Close()
		app, _, err := tosca.Load(t.Context(), archive, tosca.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range app.Components {
			all[folder.Name()+" "+c.Name] = c.Protocol
		}
	}
	if len(all) < 8 {
		t.Errorf("%d protocols, also of the examples", len(all))
	}
	random := rand.New(rand.NewPCG(dice.Seed(), 0))
	for i := range 300 {
		all["random "+strconv.Itoa(i)] = varied(random)
	}
	for name, p := range all {
		if wrong := crowded(t, graph.States(p)); len(wrong) > 0 {
			t.Errorf("%s: %s", name, strings.Join(wrong, "; "))
		}
	}
}
