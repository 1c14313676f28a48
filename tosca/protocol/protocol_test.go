package protocol_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/tosca/protocol"
)

func all(string) bool { return true }

func except(missing ...string) func(string) bool {
	return func(op string) bool { return !slices.Contains(missing, op) }
}

func TestTheDefaultProtocolsAreValid(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]protocol.Protocol{
		"software": protocol.Software(), "container": protocol.Container(), "volume": protocol.Volume(),
	} {
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(p.StateNames(), statesInOrder(p)) {
			t.Errorf("%s: the states are not sorted: %v", name, statesInOrder(p))
		}
		if p.Initial != "deleted" {
			t.Errorf("%s begins as %q", name, p.Initial)
		}
	}
}

func statesInOrder(p protocol.Protocol) []string {
	var names []string
	for _, s := range p.States {
		names = append(names, s.Name)
	}
	return names
}

func TestASoftwareRequiresItsHostAlways(t *testing.T) {
	t.Parallel()
	p := protocol.Software()
	for _, tr := range p.Transitions {
		if !slices.Contains(tr.Requires, protocol.Host) {
			t.Errorf("%s from %s does not require the host", tr.Qualified(), tr.Source)
		}
	}
	for _, s := range p.States {
		alive := slices.Contains(s.Requires, protocol.Alive) && slices.Contains(s.Offers, protocol.Alive)
		if alive == (s.Name == p.Initial) {
			t.Errorf("state %s: alive is %v", s.Name, alive)
		}
	}
	running, _ := p.State("running")
	for _, r := range []string{"host", "connection", "dependency"} {
		if !slices.Contains(running.Requires, r) {
			t.Errorf("running does not require %s", r)
		}
	}
}

func TestAllowedPassesThroughWhatIsNotImplemented(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		state       string
		implemented func(string) bool
		want        string
	}{
		{"all is implemented", "deleted", all, "create"},
		{"two ways lead on", "created", all, "configure delete"},
		{"no configure", "created", except("Standard.configure"), "configure delete start"},
		{"nothing but start", "deleted", func(op string) bool { return op == "Standard.start" }, "create configure delete start"},
		{"no stop", "running", except("Standard.stop"), "stop start delete"},
		{"nothing at all ends", "deleted", func(string) bool { return false }, "create configure delete start stop"},
		{"unknown state", "nowhere", all, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, tr := range protocol.Software().Allowed(tt.state, tt.implemented) {
				got = append(got, tr.Operation)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("allowed from %s (-want +got):\n%s", tt.state, diff)
			}
		})
	}
}

func TestNextPrefersTheStateItIsIn(t *testing.T) {
	t.Parallel()
	p := protocol.Software()
	tr, ok := p.Next("configured", "Standard.delete", func(string) bool { return false })
	if !ok || tr.Source != "configured" {
		t.Errorf("delete leaves %q, %v", tr.Source, ok)
	}
	tr, ok = p.Next("created", "Standard.start", except("Standard.configure"))
	if !ok || tr.Source != "configured" || tr.Target != "running" {
		t.Errorf("start leads from %q to %q, %v", tr.Source, tr.Target, ok)
	}
	if _, ok := p.Next("created", "Standard.start", all); ok {
		t.Error("start is allowed before configure")
	}
}

func TestValidateSaysAllThatIsWrong(t *testing.T) {
	t.Parallel()
	p := protocol.Protocol{
		Initial: "gone",
		States:  []protocol.State{{Name: "a"}, {Name: "a"}, {Name: "b"}},
		Transitions: []protocol.Transition{
			{Source: "a", Target: "c", Interface: "i", Operation: "o"},
			{Source: "a", Target: "b", Interface: "i", Operation: "o"},
		},
		FaultHandlers: []protocol.FaultHandler{{Source: "a", Target: "b"}, {Source: "a", Target: "d"}},
	}
	want := strings.Join([]string{
		`state "a" is there twice`,
		`initial names state "gone", which the protocol does not have`,
		`transition i.o names state "c", which the protocol does not have`,
		`two transitions leave state "a" by i.o`,
		`a fault handler names state "d", which the protocol does not have`,
		`state "a" has two fault handlers`,
	}, "\n")
	if diff := cmp.Diff(want, p.Validate().Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOfferingMatchesTosKersNames(t *testing.T) {
	t.Parallel()
	for requirement, want := range map[string]string{
		"connection": "endpoint", "dependency": "feature", "storage": "attachment",
		"host": "host", "alive": "alive", "own": "own",
	} {
		if got := protocol.Offering(requirement); got != want {
			t.Errorf("%s is fulfilled by %q, want %q", requirement, got, want)
		}
	}
}

// TestTheDefaultProtocolsAreTosKers has them as they are told, state by state.
func TestTheDefaultProtocolsAreTosKers(t *testing.T) {
	t.Parallel()
	tell := func(p protocol.Protocol) string {
		var b strings.Builder
		for _, s := range p.States {
			b.WriteString(s.Name + ": " + strings.Join(s.Requires, " ") + " / " + strings.Join(s.Offers, " ") + "\n")
		}
		for _, t := range p.Transitions {
			b.WriteString(t.Source + " " + t.Qualified() + " " + t.Target + ": " + strings.Join(t.Requires, " ") + "\n")
		}
		return b.String()
	}
	for want, p := range map[string]protocol.Protocol{
		`configured: alive / alive
created: alive / alive
deleted:  / 
running: alive connection dependency host / alive endpoint feature host
deleted Standard.create created: host
created Standard.configure configured: host
configured Standard.start running: host
running Standard.stop configured: host
configured Standard.delete deleted: host
created Standard.delete deleted: host
`: protocol.Software(),
		`created: storage / 
deleted:  / 
running: connection dependency storage / alive endpoint feature host
deleted Standard.create created: 
created Standard.start running: 
running Standard.stop created: 
created Standard.delete deleted: 
`: protocol.Container(),
		`created:  / attachment feature
deleted:  / 
deleted Standard.create created: 
created Standard.delete deleted: 
`: protocol.Volume(),
	} {
		if diff := cmp.Diff(want, tell(p)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestDoubtsAreWherePassagesChoose: of two transitions that are as near, one is
// taken, and the other is told of.
func TestDoubtsAreWherePassagesChoose(t *testing.T) {
	t.Parallel()
	p := protocol.Protocol{Initial: "off"}
	for _, s := range []string{"here", "left", "off", "right", "there"} {
		p.States = append(p.States, protocol.State{Name: s})
	}
	for _, w := range []string{"right go there", "off a left", "off b right", "left go here", "here back off"} {
		f := strings.Fields(w)
		p.Transitions = append(p.Transitions, protocol.Transition{Source: f[0], Interface: "i", Operation: f[1], Target: f[2]})
	}
	if doubts := p.Doubts(all); len(doubts) > 0 {
		t.Errorf("all is implemented, and in doubt are %v", doubts)
	}
	idle := except("i.a", "i.b")
	want := []protocol.Doubt{{State: "off", Operation: "i.go", Taken: "here", Other: "there"}}
	if diff := cmp.Diff(want, p.Doubts(idle)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if taken, _ := p.Next("off", "i.go", idle); taken.Target != want[0].Taken {
		t.Errorf("go leads to %q", taken.Target)
	}
	for name, usual := range map[string]protocol.Protocol{"software": protocol.Software(), "container": protocol.Container(), "volume": protocol.Volume()} {
		if doubts := usual.Doubts(func(string) bool { return false }); len(doubts) > 0 {
			t.Errorf("of the default protocol of %s in doubt are %v", name, doubts)
		}
	}
}
