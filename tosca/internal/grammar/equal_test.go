package grammar_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Aliases make few lines many values: two files of them are compared up to a
// limit, and are told apart beyond it.
func TestTypesOfOneNameAreComparedUpToALimit(t *testing.T) {
	t.Parallel()
	for depth, want := range map[int]int{2: 0, 8: 1} {
		var b strings.Builder
		b.WriteString("tosca_definitions_version: tosca_simple_yaml_1_0\ndsl_definitions:\n  a0: &a0 [ x, x, x, x ]\n")
		for i := range depth {
			fmt.Fprintf(&b, "  a%d: &a%d [ *a%d, *a%d, *a%d, *a%d ]\n", i+1, i+1, i, i, i, i)
		}
		fmt.Fprintf(&b, "node_types: { N: { properties: { p: { type: list, default: *a%d } } } }\n", depth)
		_, list := load(t, &txtar.Archive{Files: []txtar.File{
			{Name: "app.yaml", Data: []byte("tosca_definitions_version: tosca_simple_yaml_1_0\nimports: [ one.yaml, two.yaml ]\n")},
			{Name: "one.yaml", Data: []byte(b.String())},
			{Name: "two.yaml", Data: []byte(b.String())},
		}})
		if got := strings.Count(printed(list), "TOSCA-TYPE-002"); got != want || len(list) != want {
			t.Errorf("aliases %d deep: want %d, got %d:\n%s", depth, want, got, printed(list))
		}
	}
}
