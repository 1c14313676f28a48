package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/tosca/diag"
)

// times writes a line for each number below n: %[1]d in it is the number, %[2]d
// the next one, and that of the last is 0.
func times(n int, line string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, line, i, (i+1)%n)
	}
	return b.String()
}

func joined(n int, entry string) string { return strings.TrimSuffix(times(n, entry+", "), ", ") }

const (
	templates = "topology_template:\n  node_templates:\n"
	filtering = first + "node_types:\n  own:\n    derived_from: tosca.nodes.Root\n    properties: {p: {type: integer, default: 1}}\n" +
		"    requirements: [{r: {capability: tosca.capabilities.Node, node: own}}]\n"
)

// Each of these makes a product of two numbers that are written once each. The
// least of the work is what it keeps or compares.
var products = map[string]struct {
	doc   func(n int) string
	least func(n int) int
}{
	"properties of many nodes": {
		func(n int) string {
			return first + "node_types:\n  wide:\n    derived_from: tosca.nodes.Root\n    properties:\n" + times(n, "      p%[1]d: {type: string, default: x}\n") +
				templates + times(n, "    n%[1]d: {type: wide}\n")
		},
		func(n int) int { return n * n },
	},
	"nodes that many filters choose from": {
		func(n int) string {
			return filtering + templates + times(n, "    n%[1]d: {type: own, requirements: [{r: {node_filter: {properties: [{p: {equal: 2}}]}}}]}\n")
		},
		func(n int) int { return n * n },
	},
	"types that filters may mean": {
		func(n int) string {
			return filtering + times(n, "  d%[1]d: {derived_from: own, requirements: [{r: {capability: tosca.capabilities.Node, node: own, node_filter: {properties: [{none%[1]d: {equal: 1}}]}}}]}\n")
		},
		func(n int) int { return n * n },
	},
	"members of groups in many policies": {
		func(n int) string {
			return first + templates + times(n, "    n%[1]d: {type: tosca.nodes.Root}\n") +
				"  groups: {g: {type: tosca.groups.Root, members: [" + joined(n, "n%[1]d") + "]}}\n" +
				"  policies:\n" + times(n, "    - p%[1]d: {type: tosca.policies.Scaling, targets: [g]}\n")
		},
		func(n int) int { return n * n },
	},
	"inputs of the operations of many nodes": {
		func(n int) string {
			return first + "interface_types:\n  i: {derived_from: tosca.interfaces.Root, inputs: {" + joined(n, "a%[1]d: {type: string, default: x}") +
				"}, operations: {" + joined(20, "o%[1]d: {}") + "}}\n" +
				"node_types:\n  my: {derived_from: tosca.nodes.Root, interfaces: {f: {type: i}}}\n" +
				templates + times(n, "    n%[1]d: {type: my, interfaces: {f: {inputs: {a1: y}}}}\n")
		},
		func(n int) int { return 20 * n * n },
	},
}

func TestWhatMakesAProductIsCountedAndEndsAtTheLimit(t *testing.T) {
	t.Parallel()
	const n = 60
	for name, p := range products {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			free, list := resolved(t, p.doc(n))
			if slices.Contains(codes(list), "TOSCA-VAL-005") {
				t.Fatalf("it is refused as too large already: %v", list)
			}
			if free.Work < p.least(n) {
				t.Errorf("the work was %d, and at least %d was done", free.Work, p.least(n))
			}
			s, list := resolvedWithin(t, p.doc(n), free.Work/2)
			if !s.Spent() || !slices.Contains(codes(list), "TOSCA-VAL-005") {
				t.Errorf("half the work is enough: %v", codes(list))
			}
		})
	}
}

// Each of these leads through all that is written: what it takes must not grow
// faster, or these sizes take longer than a test may.
func TestWhatIsDeepOrGoesInACircleIsReportedWhereItIs(t *testing.T) {
	t.Parallel()
	const n = 500
	hosting := first + "node_types:\n  my:\n    derived_from: tosca.nodes.Root\n    capabilities: {host: tosca.capabilities.Container}\n" +
		"    requirements: [{host: {capability: tosca.capabilities.Container, relationship: tosca.relationships.HostedOn}}]\n"
	for name, c := range map[string]struct {
		doc   string
		codes []string
		count int // of errors
	}{
		"types derived from each other": {
			first + "node_types:\n" + times(n, "  t%[1]d: {derived_from: t%[2]d}\n") + templates + "    x: {type: t5}\n", []string{"TOSCA-TYPE-003"}, n,
		},
		"types derived through each other": {
			first + "node_types:\n  t" + fmt.Sprint(n) + ": {derived_from: tosca.nodes.Root}\n" +
				strings.Replace(times(n, "  t%[1]d: {derived_from: t%[2]d}\n"), "t0}", "t"+fmt.Sprint(n)+"}", 1) + templates + "    x: {type: t5}\n",
			[]string{"TOSCA-TYPE-003"},
			n - 98,
		},
		"hosts in a circle": {
			hosting + templates + times(n, "    n%[1]d: {type: my, requirements: [{host: n%[2]d}]}\n"), []string{"TOSCA-REQ-008"}, n,
		},
		"hosts on each other": {
			hosting + templates + "    n: {type: my}\n" + strings.Replace(times(n, "    n%[1]d: {type: my, requirements: [{host: n%[2]d}]}\n"), "host: n0}", "host: n}", 1), nil, 0,
		},
		"copies of copies": {
			first + templates + "    n: {type: tosca.nodes.Root}\n" + times(n, "    n%[1]d: {copy: n%[2]d}\n"), []string{"TOSCA-NODE-001"}, n,
		},
		"values that ask for each other": {
			first + "node_types:\n  my: {derived_from: tosca.nodes.Root, properties: {p: {type: string}}}\n" + templates +
				times(n, "    n%[1]d: {type: my, properties: {p: {get_property: [n%[2]d, p]}}}\n"), []string{"TOSCA-FUN-005"}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, list := resolved(t, c.doc)
			errors := slices.DeleteFunc(slices.Clone(list), func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
			if got := codes(errors); !slices.Equal(got, c.codes) || len(errors) != c.count {
				t.Errorf("%d errors %v, not %d of %v", len(errors), got, c.count, c.codes)
			}
			if most := 100 * len(c.doc); s.Work > most {
				t.Errorf("the work was %d for %d bytes", s.Work, len(c.doc))
			}
		})
	}
}

// Each of these is work that grows with what is written, and no faster.
var linear = map[string]func(n int) string{
	"interfaces that a node adds to": func(n int) string {
		return first + "node_types:\n  my:\n    derived_from: tosca.nodes.Root\n    interfaces:\n" + times(n, "      f%[1]d: {type: tosca.interfaces.Root}\n") +
			templates + "    x:\n      type: my\n      interfaces:\n" + times(n, "        f%[1]d: {}\n")
	},
	"inputs that only workflows have": func(n int) string {
		return first + templates + times(n, "    x%[1]d: {type: tosca.nodes.Root, interfaces: {Standard: {create: {implementation: f, inputs: {a: {get_input: i%[1]d}}}}}}\n") +
			"  workflows:\n" + times(n, "    w%[1]d: {inputs: {i%[1]d: {type: string}}, steps: {s: {target: x%[1]d, activities: [{set_state: a}]}}}\n")
	},
	"operations that a node adds to": func(n int) string {
		return first + "interface_types:\n  i:\n    derived_from: tosca.interfaces.Root\n    operations:\n" + times(n, "      o%[1]d: {}\n") +
			"node_types:\n  my: {derived_from: tosca.nodes.Root, interfaces: {f: {type: i}}}\n" +
			templates + "    x:\n      type: my\n      interfaces:\n        f:\n          operations:\n" + times(n, "            o%[1]d: {}\n")
	},
}

func TestWorkGrowsNoFasterThanTheDocument(t *testing.T) {
	t.Parallel()
	const n = 200
	for name, doc := range linear {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			once, list := resolved(t, doc(n))
			if list.HasErrors() {
				t.Fatal(list)
			}
			fourfold, _ := resolved(t, doc(4*n))
			if 10*fourfold.Work > 45*once.Work {
				t.Errorf("the work for %d is %d, and for %d it is %d", n, once.Work, 4*n, fourfold.Work)
			}
		})
	}
}

// Whoever prints the values of many nodes copies a large default for each.
func TestValuesThatAreCopiedAreWork(t *testing.T) {
	t.Parallel()
	doc := first + "node_types:\n  my: {derived_from: tosca.nodes.Root, properties: {p: {type: list, entry_schema: integer, default: [" +
		times(500, "%[1]d, ") + "0]}}}\n" + templates + "    n: {type: my}\n"
	s, list := resolved(t, doc)
	if len(list) > 0 {
		t.Fatal(list)
	}
	before := s.Work
	if got := s.ByName["n"].Values()["p"].([]any); len(got) != 501 || s.Work-before < len(got) {
		t.Errorf("%d values are %d work", len(got), s.Work-before)
	}
	s.Limit = s.Work + 100
	if got := s.ByName["n"].Values(); got != nil || !s.Spent() {
		t.Errorf("there is more work than is allowed: %v", got)
	}
}
