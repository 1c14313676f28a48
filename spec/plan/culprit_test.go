package plan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/spec/plan"
)

// culprit is a sentence that names a requirement as a reason.
var culprit = regexp.MustCompile(`(?m)^(?:in the goal )?"(\w)" .*?requires (\w+)(?:, which is (\w+))? of "(\w)"`)

// bound leaves of all bindings those that are to be kept.
func bound(p plan.Problem, keep func(element string, b plan.Binding) bool) plan.Problem {
	p.Elements = slices.Clone(p.Elements)
	for i := range p.Elements {
		e := &p.Elements[i]
		e.Bindings = slices.DeleteFunc(slices.Clone(e.Bindings), func(b plan.Binding) bool { return !keep(e.Name, b) })
	}
	return p
}

func TestTheReasonsForAnImpossibleGoalAreTheTrueOnes(t *testing.T) {
	t.Parallel()
	var none, seen, searched int
	for s := *seed; s < *seed+uint64(*varied); s++ {
		p := variedProblem(rand.New(rand.NewPCG(s, 7)))
		_, err := plan.Make(t.Context(), p, plan.Options{})
		if !errors.Is(err, plan.ErrImpossible) {
			continue
		}
		var named []string
		for _, m := range culprit.FindAllStringSubmatch(err.Error(), -1) {
			if m[3] == "" { // the capability is called as the requirement is
				m[3] = m[2]
			}
			named = append(named, strings.Join(m[1:], " "))
		}
		isNamed := func(element string, b plan.Binding) bool {
			return slices.Contains(named, strings.Join([]string{element, b.Requirement, b.Capability, b.Target}, " "))
		}
		reachable := func(keep func(string, plan.Binding) bool) bool {
			_, _, ok := newOracle(bound(p, keep)).best()
			return ok
		}
		withNamed := reachable(isNamed)
		withOthers := reachable(func(e string, b plan.Binding) bool { return !isNamed(e, b) })
		switch {
		case strings.Contains(err.Error(), "without any one of them"):
			searched++
			alone := strings.Count(err.Error(), "requires ") == len(named) && // there is no other reason
				!strings.Contains(err.Error(), "in the goal") && !strings.Contains(err.Error(), "cannot come") &&
				strings.Count(err.Error(), "these requirements") == 1
			for _, one := range named {
				if alone && !reachable(func(e string, b plan.Binding) bool {
					return isNamed(e, b) && strings.Join([]string{e, b.Requirement, b.Capability, b.Target}, " ") != one
				}) {
					t.Errorf("seed %d: it cannot be reached without %s, either: %v", s, one, err)
				}
			}
			if withNamed || len(named) == 0 {
				t.Errorf("seed %d: it can be reached although all this is required: %v", s, err)
			}
		case strings.Contains(err.Error(), "no order"):
			t.Errorf("seed %d: no reason is given: %v", s, err)
		case len(named) == 0:
			if none++; withOthers {
				t.Errorf("seed %d: it could be reached, if nothing were required: %v", s, err)
			}
		default:
			// Where there are several reasons, or several ways, it is enough that one
			// is barred by what is named, or that what is named bars them all.
			if seen++; withNamed && !withOthers {
				t.Errorf("seed %d: what is named is not why: %v", s, err)
			}
		}
	}
	t.Logf("%d without a requirement, %d seen at once, %d after a search", none, seen, searched)
	if few := *varied / 200; none < few || seen < few || searched < few {
		t.Error("the applications are not the mixture that this test is for")
	}
}

// TestEachReasonIsGiven: what has nothing to do with each other is planned apart,
// and where the search for one meets its limit another may be proven impossible.
func TestEachReasonIsGiven(t *testing.T) {
	t.Parallel()
	lamps := []plan.Element{
		element("lamp", custom("off", "on", "off -switch-> on")), element("torch", custom("off", "on", "off -switch-> on")),
	}
	elements := slices.Concat(again(), lamps)
	p := plan.Problem{
		Elements: elements, From: goal("lamp=on", "torch=on"),
		Goal: goal("owner=lent", "second=sat", "lamp=off", "torch=off"),
	}
	for _, states := range []int{0, 1} {
		_, err := plan.Make(t.Context(), p, plan.Options{MaxStates: states})
		want := "the goal cannot be reached:\n" +
			"\"lamp\" cannot get from state \"on\" to state \"off\": its operations do not lead there\n" +
			"\"torch\" cannot get from state \"on\" to state \"off\": its operations do not lead there"
		if !errors.Is(err, plan.ErrImpossible) || err.Error() != want {
			t.Errorf("with a limit of %d: %v", states, err)
		}
	}
}

// guards are two who each may leave his post only while the other is at his.
func guards() []plan.Element {
	post := custom("watching offers eye", "asleep", "watching -rest requires eye-> asleep")
	return []plan.Element{element("left", post, "eye>right.eye"), element("right", post, "eye>left.eye")}
}

func TestASearchThatFoundNothingSaysWhatIsWhy(t *testing.T) {
	t.Parallel()
	kept := []plan.Element{
		element("owner", custom("home", "lent offers key", "home -lend-> lent", "lent -return-> home")),
		element("first", custom("shut", "open requires key offers pass", "shut -open-> open", "open -close-> shut"), "key>owner.key"),
		element("second", custom("shut", "open requires pass", "shut -open requires air-> open"), "pass>first.pass", "air>third.air"),
		element("third", custom("here offers air")),
	}
	watched := guards() // by a crowd that makes it much work to leave out requirements
	for i := range 20 {
		watched = append(watched, element(fmt.Sprintf("other%d", i), custom("out", "in requires eye"), "eye>left.eye"))
	}
	var b strings.Builder
	for _, tt := range []struct {
		name    string
		problem plan.Problem
		limit   int
	}{
		{"each has to be the last", plan.Problem{Elements: guards(), Goal: goal("left=asleep", "right=asleep")}, 0},
		{"the same, and the limit is too low to find reasons", plan.Problem{Elements: watched, Goal: goal("left=asleep", "right=asleep")}, 4},
		{"a key that is to be back", plan.Problem{Elements: kept, Goal: goal("owner=home", "second=open")}, 0},
	} {
		_, err := plan.Make(t.Context(), tt.problem, plan.Options{MaxStates: tt.limit})
		if !errors.Is(err, plan.ErrImpossible) {
			t.Errorf("%s: %v", tt.name, err)
		}
		fmt.Fprintf(&b, "%s\n%v\n\n", tt.name, err)
	}
	golden(t, "exhausted.txt", []byte(b.String()))
}
