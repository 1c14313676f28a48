package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/edge/observe"
	"github.com/toskose/toskose/internal/docs"
)

// shown is the status that docs/clusters.md shows.
func shown(t *testing.T) observe.Status {
	t.Helper()
	at := func(text string) *time.Time {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return &when
	}
	containers := 14
	return observe.Status{
		Cluster: "factory-7",
		Machines: []observe.Machine{
			{Name: "edge-a", Role: edge.Server, Address: "10.244.244.1", State: observe.Ready, Since: at("2026-11-01T10:00:00Z"), Containers: &containers, Usage: &observe.Usage{CPU: 1_250_000_000, Memory: 1720 << 20}},
			{Name: "edge-b", Role: edge.Server, Address: "10.244.244.2", State: observe.NotReady, Since: at("2026-11-28T07:12:09Z")},
			{Name: "edge-c", Role: edge.Server, Address: "10.244.244.3", State: observe.Absent},
		},
		Applications: []observe.Application{{Name: "thinking", Namespace: "thinking", Machines: []string{"edge-a"}, Pods: 3, Containers: 3, Usage: observe.Usage{CPU: 310_000_000, Memory: 96 << 20}}},
	}
}

func TestTheDocumentationShowsWhatStatusPrints(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	printStatus(&out, shown(t), false)
	if diff := cmp.Diff(docs.Shown(t, "docs/clusters.md", "MACHINE"), out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestAStateWhoseBeginningNobodyKnowsBeganWhenItWasSeen(t *testing.T) {
	t.Parallel()
	first, second := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC), time.Date(2026, 11, 29, 10, 0, 5, 0, time.UTC)
	status := func(states ...observe.State) observe.Status {
		var s observe.Status
		for i, state := range states {
			s.Machines = append(s.Machines, observe.Machine{Name: string(rune('a' + i)), State: state})
		}
		return s
	}
	one := status(observe.Ready, observe.Absent)
	keepSince(observe.Status{}, &one, first)
	two := status(observe.Down, observe.Absent)
	keepSince(one, &two, first)
	three := status(observe.Down, observe.Absent)
	keepSince(two, &three, second)
	if one.Machines[0].Since != nil || two.Machines[0].Since == nil || !three.Machines[0].Since.Equal(first) || three.Machines[1].Since != nil {
		t.Errorf("%+v\n%+v\n%+v", one, two, three)
	}
}
