package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// graph reads "a:b,c d:a": a comes after b and c, d after a.
func graph(text string) Graph {
	g := Graph{}
	for word := range strings.FieldsSeq(text) {
		name, before, _ := strings.Cut(word, ":")
		g[name] = strings.Split(before, ",")
	}
	return g
}

func TestACycleIsFoundWhereverItIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                     "",
		"a:b b:c":              "",
		"a:b,c b:d c:d":        "",
		"a:a":                  "a a",
		"a:b b:a":              "a b a",
		"a:b b:c c:d d:b":      "b c d b",
		"a:b c:d d:e,c":        "c d c",
		"a:x,y,z x:y y:z z:w":  "",
		"a:x,y,z x:y y:z z:x ": "x y z x",
	} {
		if got := strings.Join(graph(text).Cycle(), " "); got != want {
			t.Errorf("%q has the cycle %q, not %q", text, got, want)
		}
	}
}

func TestWhatIsReachedIsAllThatIsNeeded(t *testing.T) {
	t.Parallel()
	g := graph("a:b b:c d:c e:f")
	for from, want := range map[string]string{"a": "a b c", "c": "c", "d,e": "c d e f", "": "", "a,b": "a b c"} {
		names := strings.FieldsFunc(from, func(r rune) bool { return r == ',' })
		if got := strings.Join(slices.Sorted(maps.Keys(g.Reach(names...))), " "); got != want {
			t.Errorf("from %q are reached %q, not %q", from, got, want)
		}
	}
	if got := fmt.Sprint(g.Reversed()); got != "map[b:[a] c:[b d] f:[e]]" {
		t.Errorf("reversed: %s", got)
	}
}

// The rank of a name is the number at its end, the lowest first.
func TestBatchesKeepTheOrderAndThePriorityInIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ graph, names, want string }{
		{"", "", ""},
		{"", "a1 b1 c1", "a1+b1+c1"},
		{"", "c3 a1 b2 d1", "a1+d1 b2 c3"},
		{"a1:b2", "a1 b2", "b2 a1"},
		{"a1:b2", "a1 c1 b2 d2", "c1 b2+d2 a1"},
		{"a1:b1 b1:c1", "a1 b1 c1", "c1 b1 a1"},
		{"a1:b1 b1:c1", "a1 c1", "a1+c1"}, // what is not among the names ties nobody
		{"a1:c9,b5", "a1 b5 c9", "b5 c9 a1"},
		{"a1:b1 b1:a1", "a1 b1", "a1+b1"},
	} {
		batches := graph(tt.graph).Batches(strings.Fields(tt.names), func(a, b string) int { return cmp.Compare(a[1:], b[1:]) })
		var got []string
		for _, batch := range batches {
			got = append(got, strings.Join(batch, "+"))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%q of %q: %q, not %q", tt.names, tt.graph, got, tt.want)
		}
	}
}
