package protocol_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/spec/protocol"
)

func all(protocol.Operation) bool { return true }

func none(protocol.Operation) bool { return false }

func except(missing ...string) func(protocol.Operation) bool {
	return func(op protocol.Operation) bool { return !slices.Contains(missing, op.String()) }
}

func operation(t *testing.T, text string) protocol.Operation {
	t.Helper()
	op, err := protocol.ParseOperation(text)
	if err != nil {
		t.Fatal(err)
	}
	return op
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
			t.Errorf("%s from %s does not require the host", tr.Operation, tr.Source)
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

func TestHostedAddsWhatTosKerAdds(t *testing.T) {
	t.Parallel()
	written := protocol.Protocol{
		Initial: "off",
		States: []protocol.State{
			{Name: "off", Offers: []string{"feature"}},
			{Name: "on", Requires: []string{"connection"}, Offers: []string{"alive", "endpoint"}},
		},
		Transitions: []protocol.Transition{
			{Source: "off", Target: "on", Operation: operation(t, "Standard.start"), Requires: []string{"connection", "storage"}},
			{Source: "on", Target: "off", Operation: operation(t, "Standard.stop"), Requires: []string{"host"}},
		},
	}
	want := protocol.Protocol{
		Initial: "off",
		States: []protocol.State{
			{Name: "off", Offers: []string{"feature"}},
			{Name: "on", Requires: []string{"alive", "connection"}, Offers: []string{"alive", "endpoint"}},
		},
		Transitions: []protocol.Transition{
			{Source: "off", Target: "on", Operation: operation(t, "Standard.start"), Requires: []string{"connection", "host", "storage"}},
			{Source: "on", Target: "off", Operation: operation(t, "Standard.stop"), Requires: []string{"host"}},
		},
	}
	if diff := cmp.Diff(want, written.Hosted()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, want.Hosted()); diff != "" {
		t.Errorf("twice (-want +got):\n%s", diff)
	}
	if len(written.States[1].Requires) != 1 || len(written.Transitions[1].Requires) != 1 {
		t.Error("what it is made of has changed")
	}
}

func TestAllowedSkipsWhatIsNotImplemented(t *testing.T) {
	t.Parallel()
	only := func(name string) func(protocol.Operation) bool {
		return func(op protocol.Operation) bool { return op.Name == name }
	}
	tests := []struct {
		name        string
		state       string
		open        bool
		implemented func(protocol.Operation) bool
		want        string
	}{
		{"all is implemented", "deleted", false, all, "create"},
		{"two ways lead on", "created", false, all, "configure delete"},
		{"no configure", "created", false, except("Standard.configure"), "configure delete start"},
		{"nothing but start", "deleted", false, only("start"), "create configure delete start"},
		{"no stop", "running", false, except("Standard.stop"), "stop start delete"},
		{"no stop, but processes are live", "running", true, except("Standard.stop"), "stop"},
		{"no delete, so create is done once", "created", false, only("create"), "configure delete start stop"},
		{"nothing at all ends", "deleted", false, none, "create configure delete start stop"},
		{"unknown state", "nowhere", false, all, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range protocol.Software().Allowed(tt.state, tt.open, tt.implemented) {
				got = append(got, s.Name)
				next, ok := protocol.Software().Next(tt.state, s.Operation, tt.open, tt.implemented)
				if diff := cmp.Diff(s, next); !ok || diff != "" {
					t.Errorf("Next does not agree (-Allowed +Next):\n%s", diff)
				}
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
	s, ok := p.Next("configured", operation(t, "Standard.delete"), false, none)
	if !ok || s.Source != "configured" || len(s.Skipped) > 0 {
		t.Errorf("delete leaves %q, %v", s.Source, ok)
	}
	s, ok = p.Next("created", operation(t, "Standard.start"), false, except("Standard.configure"))
	if !ok || s.Source != "configured" || s.Target != "running" || len(s.Skipped) != 1 || s.Skipped[0].Name != "configure" {
		t.Errorf("start makes %+v, %v", s, ok)
	}
	if _, ok := p.Next("created", operation(t, "Standard.start"), false, all); ok {
		t.Error("start is allowed before configure")
	}
}

func TestAnOperationIsSplitAtItsLastDot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]protocol.Operation{
		"Standard.create": {Interface: "Standard", Name: "create"},
		"my.own.push":     {Interface: "my.own", Name: "push"},
	} {
		got, err := protocol.ParseOperation(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q is %+v, %q, %v", text, got, got, err)
		}
	}
	for _, text := range []string{"", "create", ".create", "Standard.", "."} {
		if got, err := protocol.ParseOperation(text); err == nil || got.String() != "" {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
}

func TestStartAndStopAreSoInAnyInterface(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]protocol.Kind{
		"Standard.start": protocol.KindStart, "Standard.stop": protocol.KindStop,
		"my.start": protocol.KindStart, "my.stop": protocol.KindStop,
		"Standard.create": protocol.KindRun, "my.restart": protocol.KindRun, "start.go": protocol.KindRun,
	} {
		if got := operation(t, text).Kind(); got != want {
			t.Errorf("%s is of kind %q, want %q", text, got, want)
		}
	}
	if got := (protocol.Operation{}).Kind(); got != protocol.KindNone {
		t.Errorf("no operation is of kind %q", got)
	}
}

func TestValidateSaysAllThatIsWrong(t *testing.T) {
	t.Parallel()
	p := protocol.Protocol{
		Initial: "gone",
		States:  []protocol.State{{Name: "a"}, {Name: "a"}, {Name: "b"}},
		Transitions: []protocol.Transition{
			{Source: "a", Target: "c", Operation: protocol.Operation{Interface: "i", Name: "o"}},
			{Source: "a", Target: "b", Operation: protocol.Operation{Interface: "i", Name: "o"}},
		},
		FaultHandlers: []protocol.FaultHandler{{Source: "a", Target: "b"}, {Source: "a", Target: "d"}},
	}
	want := strings.Join([]string{
		`state "a" is defined twice`,
		`initial names state "gone", which the protocol does not have`,
		`transition "i.o" names state "c", which the protocol does not have`,
		`two transitions leave state "a" by "i.o"`,
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
			b.WriteString(t.Source + " " + t.Operation.String() + " " + t.Target + ": " + strings.Join(t.Requires, " ") + "\n")
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

// TestDoubtsAreWhereSkippingChooses: of two transitions that are as near, one is
// taken, and the other is told of.
func TestDoubtsAreWhereSkippingChooses(t *testing.T) {
	t.Parallel()
	p := protocol.Protocol{Initial: "off"}
	for _, s := range []string{"here", "left", "off", "right", "there"} {
		p.States = append(p.States, protocol.State{Name: s})
	}
	for _, w := range []string{"right go there", "off a left", "off b right", "left go here", "here back off"} {
		f := strings.Fields(w)
		p.Transitions = append(p.Transitions, protocol.Transition{Source: f[0], Operation: protocol.Operation{Interface: "i", Name: f[1]}, Target: f[2]})
	}
	if doubts := p.Doubts(all); len(doubts) > 0 {
		t.Errorf("all is implemented, and in doubt are %v", doubts)
	}
	idle := except("i.a", "i.b")
	want := []protocol.Doubt{{State: "off", Operation: operation(t, "i.go"), Taken: "here", Other: "there"}}
	if diff := cmp.Diff(want, p.Doubts(idle)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if taken, _ := p.Next("off", operation(t, "i.go"), false, idle); taken.Target != want[0].Taken {
		t.Errorf("go leads to %q", taken.Target)
	}
	for name, usual := range map[string]protocol.Protocol{"software": protocol.Software(), "container": protocol.Container(), "volume": protocol.Volume()} {
		if doubts := usual.Doubts(none); len(doubts) > 0 {
			t.Errorf("of the default protocol of %s in doubt are %v", name, doubts)
		}
	}
}

func TestAFreeOperationRunsWhereItMayAndChangesNothing(t *testing.T) {
	t.Parallel()
	push := operation(t, "own.push")
	p := protocol.Software().WithFree(operation(t, "own.zip")).WithFree(push)
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	if got := []string{p.Free[0].String(), p.Free[1].String()}; !slices.Equal(got, []string{"own.push", "own.zip"}) {
		t.Errorf("free are %v", got)
	}
	for _, s := range p.States {
		for _, open := range []bool{false, true} {
			step, ok := p.Next(s.Name, push, open, none)
			if ok != (s.Name != p.Initial) {
				t.Errorf("in %q, open %v: allowed is %v", s.Name, open, ok)
			}
			if ok && (step.Target != s.Name || len(step.Skipped) > 0 || !slices.Equal(step.Requires, []string{"host"})) {
				t.Errorf("in %q: %+v", s.Name, step)
			}
			if in := slices.ContainsFunc(p.Allowed(s.Name, open, none), func(s protocol.Step) bool { return s.Operation == push }); in != ok {
				t.Errorf("in %q it is among those allowed: %v", s.Name, in)
			}
		}
	}
	p.Free[0].States = []string{"configured"}
	if _, ok := p.Next("created", push, false, none); ok {
		t.Error("a configure that is not implemented is skipped for it")
	}
	if p.Equal(protocol.Software()) || !p.Equal(p) {
		t.Error("free operations do not count")
	}
	p.Free = append(p.Free, p.Free[0], protocol.Free{Operation: operation(t, "Standard.start"), States: []string{"gone"}}, protocol.Free{})
	want := `free operation "own.push" is there twice
free operation "Standard.start" names state "gone", which the protocol does not have
free operation "Standard.start" is that of a transition, too
a free operation lacks its interface or name`
	if diff := cmp.Diff(want, p.Validate().Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
