package data_test

import (
	"strings"
	"testing"

	"github.com/toskose/toskose/tosca/internal/data"
)

func TestConditionsOfTheFirstFamilyAreAssertionsOnAttributes(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]string{
		`[port: [{equal: 80}]]`:                                                    ``,
		`[assert: [{port: [{in_range: [1, 10]}]}]]`:                                ``,
		`[{and: [{port: [{greater_than: 1}]}, {not: [{address: [{equal: a}]}]}]}]`: ``,
		`{or: [{port: {equal: 80}}]}`:                                              ``,
		`utilization greater_than 50%`:                                             ``,
		`[prt: [{equal: 80}]]`:                                                     `TOSCA-FUN-004 it names attribute "prt", which node "api" does not have`,
		`[port: [{equals: 80}]]`:                                                   `TOSCA-VAL-003 it: "port": unknown constraint "equals" (equal?)`,
		`[port: [{greater_than: a}]]`:                                              `TOSCA-VAL-003 it: "port": constraint "greater_than" has "a", which must be an integer`,
		`[port: 80]`:                                                               `TOSCA-VAL-003 it: "port" must be a list of constraints, each a map of one key, not 80`,
		`[port: [{equal: 80, less_than: 90}]]`:                                     `TOSCA-VAL-003 it: "port" must be a list of constraints, each a map of one key, not [{"equal":80,"less_than":90}]`,
		`[{and: true}]`:                                                            `TOSCA-VAL-003 it: "and" must have a list of conditions, not true`,
		`[1]`:                                                                      `TOSCA-VAL-003 it must be a list of conditions, not 1`,
	} {
		e := evaluator()
		w := newWorld(t, first)
		e.World = w
		ok := e.Clause(node(t, yaml), data.Place{Of: "it", Doc: first, Self: w.byName["api"]})
		if got := said(e); got != want || ok != (want == "" || strings.HasPrefix(want, "warning ")) {
			t.Errorf("%s: %v, and\n got %s\nwant %s", yaml, ok, got, want)
		}
	}
}
