package plan_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

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
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// element makes an element; bindings are "requirement>target", with
// ".capability" behind it where the usual one is not meant.
func element(name string, p protocol.Protocol, bindings ...string) plan.Element {
	e := plan.Element{Name: name, Protocol: p}
	for _, b := range bindings {
		requirement, target, _ := strings.Cut(b, ">")
		target, capability, own := strings.Cut(target, ".")
		if !own {
			capability = protocol.Offering(requirement)
		}
		e.Bindings = append(e.Bindings, plan.Binding{Requirement: requirement, Target: target, Capability: capability})
	}
	return e
}

func software(name, host string, bindings ...string) plan.Element {
	return element(name, protocol.Software(), append([]string{"host>" + host, "alive>" + host}, bindings...)...)
}

// custom makes a protocol of lines: "state requires a,b offers c" and
// "from -operation requires a-> to"; the first state is the initial one.
func custom(lines ...string) protocol.Protocol {
	list := func(text, after string) []string {
		_, rest, ok := strings.Cut(text, after+" ")
		if !ok {
			return nil
		}
		rest, _, _ = strings.Cut(rest, " ")
		return strings.Split(rest, ",")
	}
	var p protocol.Protocol
	for _, line := range lines {
		from, rest, isTransition := strings.Cut(line, " -")
		if !isTransition {
			name, _, _ := strings.Cut(line, " ")
			p.States = append(p.States, protocol.State{Name: name, Requires: list(line, "requires"), Offers: list(line, "offers")})
			continue
		}
		label, to, _ := strings.Cut(rest, "-> ")
		operation, _, _ := strings.Cut(label, " ")
		p.Transitions = append(p.Transitions, protocol.Transition{
			Source: from, Target: to, Operation: protocol.Operation{Interface: "Own", Name: operation}, Requires: list(label, "requires"),
		})
	}
	p.Initial = p.States[0].Name
	return p
}

func shop() []plan.Element {
	return []plan.Element{
		element("disk", protocol.Volume()),
		element("store", protocol.Container(), "storage>disk"),
		element("box", protocol.Container()),
		software("api", "box", "connection>store"),
		software("plugin", "api", "dependency>store"),
	}
}

// comesAndGoes is a key that is offered while it is lent only, which its owner
// must not be in the end.
func comesAndGoes() []plan.Element {
	return []plan.Element{
		element("owner", custom("home", "lent offers key", "home -lend-> lent", "lent -return-> home")),
		element("first", custom("shut", "open", "shut -open requires key-> open"), "key>owner.key"),
		element("second", custom("shut", "ready", "open", "shut -prepare-> ready", "ready -open requires key-> open"), "key>owner.key"),
	}
}

// again is a key that has to be lent, returned and lent again.
func again() []plan.Element {
	return []plan.Element{
		element("owner", custom("home offers seat", "lent offers key", "home -lend-> lent", "lent -return-> home")),
		element("first", custom("shut", "open offers pass", "shut -open requires key-> open"), "key>owner.key"),
		element("second", custom("up", "sat", "up -sit requires seat,pass-> sat"), "seat>owner.seat", "pass>first.pass"),
	}
}

// takingTurns are doors that each need two owners at home, then with their keys
// lent, then two at home again.
func takingTurns(n int) []plan.Element {
	var all []plan.Element
	for i := range n {
		all = append(all,
			element(fmt.Sprintf("o%d", i), custom("home offers seat", "lent offers key", "home -lend-> lent", "lent -return-> home")),
			element(fmt.Sprintf("d%d", i), custom("shut", "ready", "open", "sat",
				"shut -prepare requires seat-> ready", "ready -open requires key-> open", "open -sit requires seat-> sat"),
				fmt.Sprintf("key>o%d.key", i), fmt.Sprintf("key>o%d.key", (i+1)%n),
				fmt.Sprintf("seat>o%d.seat", (i+1)%n), fmt.Sprintf("seat>o%d.seat", (i+3)%n)))
	}
	return all
}

// waiting are two that each need the other in order to run.
func waiting() []plan.Element {
	return []plan.Element{
		element("box", protocol.Container()),
		software("egg", "box", "connection>hen"),
		software("hen", "box", "dependency>egg"),
	}
}

// halfway are two that need each other's door before they are inside: only one
// who stands in the door can help the other.
func halfway() []plan.Element {
	door := custom("out", "door offers hand", "in requires hand", "out -step-> door", "door -enter requires hand-> in", "in -leave-> door")
	return []plan.Element{element("left", door, "hand>right.hand"), element("right", door, "hand>left.hand")}
}

func goal(pairs ...string) map[string]string {
	states := map[string]string{}
	for _, p := range pairs {
		name, state, _ := strings.Cut(p, "=")
		states[name] = state
	}
	return states
}

func up(t *testing.T, elements []plan.Element) map[string]string {
	t.Helper()
	states, notes := plan.Up(elements, nil)
	if len(notes) > 0 {
		t.Fatal(notes)
	}
	return states
}

// named parses component:interface.operation; without a component it has none.
func named(text string) plan.Operation {
	if !strings.Contains(text, ":") {
		text = "nobody:" + text
	}
	op, err := plan.ParseOperation(text)
	if err != nil {
		panic(err)
	}
	return op
}

func unimplemented(elements []plan.Element, name string, ops ...string) []plan.Element {
	for i := range elements {
		if elements[i].Name == name {
			for _, text := range ops {
				elements[i].Unimplemented = append(elements[i].Unimplemented, named(text).Operation)
			}
		}
	}
	return elements
}

func problems(t *testing.T) map[string]plan.Problem {
	lamp := custom("off", "on offers light", "broken", "off -switch-> on", "on -smash-> broken")
	pushed := custom("deleted", "ready", "running offers endpoint", "deleted -create-> ready", "ready -push-> ready", "ready -start-> running")
	return map[string]plan.Problem{
		"up":             {Elements: shop(), Goal: up(t, shop())},
		"down":           {Elements: shop(), From: up(t, shop()), Goal: plan.Down(shop())},
		"one of them":    {Elements: shop(), Goal: goal("api=created")},
		"stop the store": {Elements: shop(), From: up(t, shop()), Goal: goal("store=created")},
		"nothing to do":  {Elements: shop(), Goal: plan.Down(shop())},
		"only start": {
			Elements: unimplemented(shop(), "api", "Standard.configure", "Standard.create"), Goal: up(t, shop()),
		},
		"no stop and no delete": {
			Elements: unimplemented(shop(), "plugin", "Standard.delete", "Standard.stop"), From: up(t, shop()), Goal: plan.Down(shop()),
		},
		"configured without configure": {
			Elements: unimplemented(shop(), "api", "Standard.configure"), Goal: goal("api=configured"),
		},
		"comes and goes":    {Elements: comesAndGoes(), Goal: goal("owner=home", "first=open", "second=open")},
		"again":             {Elements: again(), Goal: goal("owner=lent", "second=sat")},
		"must run":          {Elements: []plan.Element{element("api", pushed)}, Goal: goal("api=running"), Run: []plan.Operation{named("api:Own.push")}},
		"must run too late": {Elements: []plan.Element{element("api", pushed)}, From: goal("api=running"), Run: []plan.Operation{named("api:Own.push")}},
		"each other":        {Elements: waiting(), Goal: up(t, waiting())},
		"one at a time":     {Elements: halfway(), Goal: goal("left=in")},
		"both at once":      {Elements: halfway(), Goal: goal("left=in", "right=in")},
		"never offered": {
			Elements: []plan.Element{element("box", protocol.Container()), software("api", "box", "connection>bus.endpoint"), element("bus", protocol.Volume())},
			Goal:     goal("api=running"),
		},
		"offered out of reach": {
			Elements: []plan.Element{
				element("reader", custom("idle", "reading requires light", "idle -read-> reading"), "light>lamp.light"), element("lamp", lamp),
			},
			From: goal("lamp=broken"), Goal: goal("reader=reading"),
		},
		"no way": {Elements: []plan.Element{element("lamp", lamp)}, From: goal("lamp=broken"), Goal: goal("lamp=on")},
		"contradicting goals": {
			Elements: []plan.Element{
				element("reader", custom("idle", "reading requires light", "idle -read-> reading"), "light>lamp.light"), element("lamp", lamp),
			},
			Goal: goal("reader=reading", "lamp=broken"),
		},
		"a start with a fault": {Elements: shop(), From: goal("api=running"), Goal: goal("api=deleted")},
		"unknown names": {
			Elements: shop(), From: goal("apj=running"), Goal: goal("api=rnning", "nobody=there"),
			Run: []plan.Operation{named("api:Standard.stat"), named("box2:i.o")},
		},
	}
}

func TestPlansAreTheExpectedOnes(t *testing.T) {
	t.Parallel()
	for name, p := range problems(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, err := plan.Make(t.Context(), p, plan.Options{})
			got := []byte(fmt.Sprintln(err))
			if err == nil {
				checkPlan(t, p, made)
				if got, err = made.Format("text", "shop"); err != nil {
					t.Fatal(err)
				}
			}
			golden(t, strings.ReplaceAll(name, " ", "-")+".txt", got)
		})
	}
}

func TestAPlanIsWrittenInEveryFormat(t *testing.T) {
	t.Parallel()
	made, err := plan.Make(t.Context(), problems(t)["configured without configure"], plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range plan.Formats {
		out, err := made.Format(format, "shop")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "format."+format, out)
		if format != "plan" && format != "csv" {
			continue
		}
		operations, _, err := plan.Read(bytes.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		var want []plan.Operation
		for _, s := range made.Steps() {
			want = append(want, s.Operation)
		}
		if diff := cmp.Diff(want, operations); diff != "" {
			t.Errorf("%s is read otherwise (-want +got):\n%s", format, diff)
		}
	}
	if _, err := made.Format("svg", "shop"); err == nil {
		t.Error("an unknown format is accepted")
	}
}

func TestReadingAPlanSaysAllThatIsWrong(t *testing.T) {
	t.Parallel()
	text := "\ufeff# a comment\r\n\r\napi:Standard.create\r\n api , Standard , start \r\napi Standard.stop\na,b\na,,c\n:i.o\na:i\na:.o\na:i.\nx:my.own.op\n"
	operations, lines, err := plan.Read(strings.NewReader(text))
	want := []plan.Operation{named("api:Standard.create"), named("api:Standard.start"), {Component: "x", Operation: protocol.Operation{Interface: "my.own", Name: "op"}}}
	if diff := cmp.Diff(want, operations); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{3, 4, 12}, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	golden(t, "read.txt", []byte(fmt.Sprintln(err)))
}

func TestCheckSaysWhichStepIsNotAllowedAndWhy(t *testing.T) {
	t.Parallel()
	all := up(t, shop())
	var b strings.Builder
	for _, tt := range []struct {
		name  string
		from  map[string]string
		goal  map[string]string
		steps string
	}{
		{"good", nil, goal("box=running"), "box:Standard.create box:Standard.start api:Standard.create"},
		{"an order of its own", nil, nil, "box:Standard.create api:Standard.create"},
		{"from another state", nil, nil, "box:Standard.start"},
		{"nobody", nil, nil, "bax:Standard.start"},
		{"no such operation", nil, nil, "box:Standard.sart"},
		{"an operation like none", nil, nil, "box:Own.push"},
		{"no step", nil, nil, ""},
		{"something missing", goal("box=running", "api=configured"), nil, "api:Standard.start"},
		{"needed by others", all, nil, "plugin:Standard.stop api:Standard.stop box:Standard.stop"},
		{"needed in a state", all, nil, "store:Standard.stop"},
		{"short of the goal", nil, goal("box=running", "api=created"), "box:Standard.create"},
	} {
		var operations []plan.Operation
		for _, text := range strings.Fields(tt.steps) {
			op, err := plan.ParseOperation(text)
			if err != nil {
				t.Fatal(err)
			}
			operations = append(operations, op)
		}
		out, err := plan.Check(plan.Problem{Elements: shop(), From: tt.from, Goal: tt.goal}, operations)
		fmt.Fprintf(&b, "%s\n", tt.name)
		if err != nil {
			fmt.Fprintf(&b, "%v\n\n", err)
			continue
		}
		fmt.Fprintf(&b, "%s%s\n", out.Text("shop"), strings.Join(append(out.Unmet, ""), "\n"))
	}
	golden(t, "check.txt", []byte(b.String()))
}

// TestNothingIsCreatedTwice checks plans of a component with create and start
// only: it is never created again, since there is no delete, and its start has
// to be stopped before anything else is done.
func TestNothingIsCreatedTwice(t *testing.T) {
	t.Parallel()
	of := func() []plan.Element {
		elements := []plan.Element{element("box", protocol.Container()), software("s", "box")}
		return unimplemented(elements, "s", "Standard.configure", "Standard.stop", "Standard.delete")
	}
	for steps, want := range map[string]string{
		"s:Standard.create s:Standard.create":                                                                                     `step 2, s:Standard.create: not allowed in state "created", which allows Standard.configure, Standard.delete, Standard.start`,
		"s:Standard.create s:Standard.start s:Standard.create":                                                                    `step 3, s:Standard.create: not allowed in state "running", which allows Standard.stop`,
		"s:Standard.create s:Standard.start s:Standard.delete":                                                                    `step 3, s:Standard.delete: not allowed in state "running", which allows Standard.stop`,
		"s:Standard.create s:Standard.start s:Standard.start":                                                                     `step 3, s:Standard.start: not allowed in state "running", which allows Standard.stop`,
		"s:Standard.create s:Standard.start s:Standard.stop s:Standard.start s:Standard.stop s:Standard.delete s:Standard.create": "",
	} {
		var operations []plan.Operation
		for _, text := range strings.Fields(steps) {
			operations = append(operations, named(text))
		}
		_, err := plan.Check(plan.Problem{Elements: of(), From: goal("box=running")}, operations)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\n%s, want\n%s", steps, got, want)
		}
	}
}

func TestAPlanOfAnEndedSearchSaysThatItIsNotProven(t *testing.T) {
	t.Parallel()
	p := problems(t)["again"]
	var b strings.Builder
	for states := 1; states < 16; states++ {
		made, err := plan.Make(t.Context(), p, plan.Options{MaxStates: states})
		if err != nil {
			fmt.Fprintf(&b, "%d: %v\n", states, err)
			continue
		}
		checkPlan(t, p, made)
		fmt.Fprintf(&b, "%d: %s\n", states, made.Summary())
	}
	turns := plan.Problem{Elements: takingTurns(4), Goal: map[string]string{}}
	for _, e := range turns.Elements {
		turns.Goal[e.Name] = map[byte]string{'o': "lent", 'd': "sat"}[e.Name[0]]
	}
	for states := 8; states <= 1<<17; states *= 4 {
		made, err := plan.Make(t.Context(), turns, plan.Options{MaxStates: states})
		if err != nil {
			fmt.Fprintf(&b, "taking turns, %d: %v\n", states, err)
			continue
		}
		checkPlan(t, turns, made)
		fmt.Fprintf(&b, "taking turns, %d: %s\n", states, made.Summary())
	}
	golden(t, "limits.txt", []byte(b.String()))
	if _, err := plan.Make(t.Context(), p, plan.Options{MaxStates: 1}); !errors.Is(err, plan.ErrLimit) {
		t.Errorf("one situation is enough: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := plan.Make(ctx, p, plan.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled search ends with %v", err)
	}
}

// large makes an application of so many components, four to a container, each
// of which dials three others or a standalone store.
func large(components int) []plan.Element {
	r := rand.New(rand.NewPCG(1, 2))
	var all []plan.Element
	for i := range components / 4 {
		all = append(all, element(fmt.Sprintf("box%d", i), protocol.Container()),
			element(fmt.Sprintf("disk%d", i), protocol.Volume()),
			element(fmt.Sprintf("store%d", i), protocol.Container(), fmt.Sprintf("storage>disk%d", i)))
	}
	for i := range components {
		e := software(fmt.Sprintf("c%d", i), fmt.Sprintf("box%d", i/4), fmt.Sprintf("connection>store%d", r.IntN(components/4)))
		for range min(i, 3) {
			e.Bindings = append(e.Bindings, plan.Binding{Requirement: "dependency", Target: fmt.Sprintf("c%d", r.IntN(i)), Capability: "feature"})
		}
		all = append(all, e)
	}
	return all
}

func TestALargeApplicationIsPlannedWithoutASearch(t *testing.T) {
	t.Parallel()
	elements := large(1000)
	for operations, p := range map[int]plan.Problem{
		250*5 + 1000*3: {Elements: elements, Goal: up(t, elements)},
		250*5 + 1000*2: {Elements: elements, From: up(t, elements), Goal: plan.Down(elements)},
	} {
		made, err := plan.Make(t.Context(), p, plan.Options{MaxStates: 1})
		if err != nil {
			t.Fatal(err)
		}
		if !made.Minimal.Operations || !made.Minimal.Levels || made.Operations != operations {
			t.Errorf("%s, %+v", made.Summary(), made.Minimal)
		}
		checkPlan(t, p, made)
	}
}

func TestASearchIsForThoseWhoNeedIt(t *testing.T) {
	t.Parallel()
	elements := append(large(100), again()...)
	p := plan.Problem{Elements: elements, Goal: up(t, large(100))}
	p.Goal["owner"], p.Goal["second"] = "lent", "sat"
	made, err := plan.Make(t.Context(), p, plan.Options{MaxStates: 20})
	if err != nil {
		t.Fatal(err)
	}
	if !made.Minimal.Operations || !made.Minimal.Levels || made.Operations != 25*5+100*3+5 {
		t.Errorf("%s, %+v", made.Summary(), made.Minimal)
	}
	checkPlan(t, p, made)
}

func BenchmarkMake(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		elements := large(n)
		goal, _ := plan.Up(elements, nil)
		for name, p := range map[string]plan.Problem{
			"up":   {Elements: elements, Goal: goal},
			"down": {Elements: elements, From: goal, Goal: plan.Down(elements)},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := plan.Make(b.Context(), p, plan.Options{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
