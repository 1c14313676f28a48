package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// TestUpIsWhereAStartLeads has the states of protocols that are up, and what is
// said of them.
func TestUpIsWhereAStartLeads(t *testing.T) {
	t.Parallel()
	user := func(of, capability string) plan.Element {
		return element("user", custom("off", "on requires it", "off -start-> on"), "it>"+of+"."+capability)
	}
	for name, tt := range map[string]struct {
		elements []plan.Element
		given    string
		want     string
	}{
		"the default protocols": {
			elements: shop(), want: "api=running box=running disk=created plugin=running store=running",
		},
		"a start in an interface of its own": {
			elements: []plan.Element{element("api", custom("off offers all", "started", "off -start-> started"))},
			want:     `api=started; "api" is up in state "started"`,
		},
		"the start that offers more": {
			elements: []plan.Element{element("api", custom("off", "half", "whole offers endpoint", "off -start-> half", "half -start-> whole"))},
			want:     `api=whole; "api" is up in state "whole"`,
		},
		"what others require, where there is no start": {
			elements: []plan.Element{
				element("api", custom("off", "a offers endpoint,feature,own", "b offers light", "off -go-> a", "a -go-> b")), user("api", "light"),
			},
			want: `api=b user=on; "api" is up in state "b"; "user" is up in state "on"`,
		},
		"what offers most, where nobody requires anything": {
			elements: []plan.Element{element("api", custom("off", "a offers feature", "b offers endpoint,feature", "off -go-> a", "a -go-> b"))},
			want:     `api=b; "api" is up in state "b"`,
		},
		"the initial state may be the one": {
			elements: []plan.Element{element("rock", custom("there offers endpoint"))},
			want:     `rock=there; "rock" is up in state "there"`,
		},
		"nothing that offers but alive": {
			elements: []plan.Element{element("tool", custom("off", "made offers alive", "off -make-> made"))},
			want:     `; "tool" is left out: its protocol has no operation start and no state that offers anything`,
		},
		"a host that offers alive only": {
			elements: []plan.Element{element("tool", custom("off", "made offers alive", "off -make-> made")), user("tool", "alive")},
			want:     `tool=made user=on; "tool" is up in state "made"; "user" is up in state "on"`,
		},
		"after the start, where others require it": {
			elements: []plan.Element{
				element("api", custom("off", "started", "working offers endpoint", "off -start-> started", "started -push-> working")), user("api", "endpoint"),
			},
			want: `api=working user=on; "api" is up in state "working"; "user" is up in state "on"`,
		},
		"what is given stays": {
			elements: []plan.Element{element("api", custom("off", "on offers endpoint", "off -start-> on")), user("api", "endpoint")},
			given:    "api=off", want: `api=off user=on; "user" is up in state "on"`,
		},
		"what nobody ever offers moves no one": {
			elements: []plan.Element{element("api", custom("off", "on", "off -start-> on")), user("api", "endpoint")},
			want:     `api=on user=on; "api" is up in state "on"; "user" is up in state "on"`,
		},
		"two who send each other on": {
			elements: []plan.Element{
				element("left", custom("l0", "l1 requires it offers a", "l2 requires it2 offers b", "l0 -start-> l1", "l1 -next-> l2"), "it>right.b", "it2>right.a"),
				element("right", custom("r0", "r1 requires it offers a", "r2 requires it2 offers b", "r0 -start-> r1", "r1 -next-> r2"), "it>left.b", "it2>left.a"),
			},
			want: `left=l2 right=r2; "left" is up in state "l2"; "right" is up in state "r2"`,
		},
	} {
		var given map[string]string
		if tt.given != "" {
			given = goal(tt.given)
		}
		states, notes := plan.Up(tt.elements, given)
		var pairs []string
		for _, e := range tt.elements {
			if state, has := states[e.Name]; has {
				pairs = append(pairs, e.Name+"="+state)
			}
		}
		slices.Sort(pairs)
		if diff := cmp.Diff(tt.want, strings.Join(append([]string{strings.Join(pairs, " ")}, notes...), "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for state := range states {
			if !protocolOf(tt.elements, state).Has(states[state]) {
				t.Errorf("%s: %q has no state %q", name, state, states[state])
			}
		}
	}
}

func protocolOf(elements []plan.Element, name string) protocol.Protocol {
	for _, e := range elements {
		if e.Name == name {
			return e.Protocol
		}
	}
	return protocol.Protocol{}
}
