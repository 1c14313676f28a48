package differential

import (
	"context"
	"flag"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/internal/testunit"
)

var (
	update = flag.Bool("update", false, "rewrite the answers in "+differencesFile)
	only   = flag.String("only", "", "play only the scenarios whose names begin so")
)

func TestMain(m *testing.M) { leak.Main(m) }

// atOnce bounds how many scenarios are played at the same time. They wait most
// of the time, so there may be more than processors.
const atOnce = 8

// played are the answers to one scenario.
type played struct {
	supervisord, unit []answer
	joined            []answer // of a unit that joins an application by its environment
	errs              []error
	took              [3]time.Duration
	done              chan struct{}
}

func TestTheUnitAnswersAsSupervisordDoes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs two servers on a whole corpus; not with -short")
	}
	for _, program := range []string{"supervisord", "supervisorctl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (Debian package supervisor)", program)
		}
	}
	corpus, err := readCorpus()
	if err != nil {
		t.Fatal(err)
	}
	head, declared, err := readDifferences()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := readRules(declared)
	if err != nil {
		t.Fatal(err)
	}
	unit, err := testunit.AsStrict(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	chosen := slices.DeleteFunc(slices.Clone(corpus), func(s scenario) bool { return !strings.HasPrefix(s.name, *only) })
	python, err := newInterpreter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer python.close()
	all := playAll(t.Context(), chosen, unit, python)
	found := map[string][]string{}
	var order []string
	complete := len(chosen) == len(corpus)
	for i, s := range chosen {
		complete = t.Run(s.name, func(t *testing.T) {
			<-all[i].done
			t.Logf("supervisord took %v, the unit %v, joined %v",
				all[i].took[0].Round(time.Millisecond), all[i].took[1].Round(time.Millisecond), all[i].took[2].Round(time.Millisecond))
			for _, err := range all[i].errs {
				t.Error(err)
			}
			if t.Failed() {
				return
			}
			for n := range all[i].unit {
				key := s.name
				if !s.load {
					key += ": " + s.steps[n].key
				}
				theirs, ours := all[i].supervisord[n], all[i].unit[n]
				if lines := compare(ours, all[i].joined[n]); lines != nil {
					t.Errorf("%s: a unit that joins by its environment answers otherwise\n%s", key, strings.Join(lines, "\n"))
				}
				if s.load {
					theirs, ours = verdicts(theirs, ours)
				}
				if lines := without(compare(theirs, ours), rules); lines != nil {
					found[key] = lines
					order = append(order, key)
				}
			}
			if !*update {
				checkDeclared(t, s.name, declared, found)
			}
		}) && complete
	}
	if *update && complete {
		if err := writeDifferences(head, declared, found, order); err != nil {
			t.Error(err)
		}
	}
	for _, p := range all {
		<-p.done // also those that -run left out
	}
	checkList(t, corpus, declared)
	if len(chosen) == len(corpus) {
		checkCoverage(t, corpus, all)
	}
	for i, r := range rules {
		if complete && !r.used {
			t.Errorf("rule %d of %s matches nothing any more: %s", i+1, differencesFile, r.lines[0])
		}
	}
}

// verdicts are what both made of a configuration; where only one took it, no
// more is said of that.
func verdicts(supervisord, unit answer) (answer, answer) {
	refused := func(a answer) bool { return strings.HasPrefix(a[0], "exit ") }
	switch {
	case refused(supervisord) && !refused(unit):
		unit = answer{"accepted"}
	case refused(unit) && !refused(supervisord):
		supervisord = answer{"accepted"}
	}
	return supervisord, unit
}

// playAll plays every scenario to supervisord, to the unit, and to a unit that joins an application.
func playAll(ctx context.Context, corpus []scenario, unit string, python *interpreter) []*played {
	supervisord := kind{"supervisord", nil, python, false}
	ours := kind{"unit", []string{unit, "run", "-c"}, python, false}
	joined := ours
	joined.name, joined.joins = "joined unit", true
	turn := make(chan struct{}, atOnce)
	all := make([]*played, len(corpus))
	for i, s := range corpus {
		p := &played{done: make(chan struct{})}
		all[i] = p
		go func() {
			defer close(p.done)
			turn <- struct{}{}
			defer func() { <-turn }()
			var running sync.WaitGroup
			errs := make([]error, 3)
			begin := time.Now()
			running.Go(func() {
				p.supervisord, errs[0] = play(ctx, supervisord, s)
				p.took[0] = time.Since(begin)
			})
			running.Go(func() {
				p.unit, errs[1] = play(ctx, ours, s)
				p.took[1] = time.Since(begin)
			})
			running.Go(func() {
				p.joined, errs[2] = play(ctx, joined, s)
				p.took[2] = time.Since(begin)
			})
			running.Wait()
			p.errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
		}()
	}
	return all
}

// checkDeclared compares what was found in a scenario with the list.
func checkDeclared(t *testing.T, name string, declared []difference, found map[string][]string) {
	t.Helper()
	known := map[string]bool{}
	for _, d := range declared {
		if d.key != name && !strings.HasPrefix(d.key, name+": ") {
			continue
		}
		known[d.key] = true
		switch got := found[d.key]; {
		case got == nil:
			t.Errorf("%s: no difference any more; take it out of %s", d.key, differencesFile)
		case !slices.Equal(got, d.lines):
			t.Errorf("%s: the difference is\n%s\nnot, as declared,\n%s", d.key, strings.Join(got, "\n"), strings.Join(d.lines, "\n"))
		}
	}
	for key, lines := range found {
		if (key == name || strings.HasPrefix(key, name+": ")) && !known[key] {
			t.Errorf("%s: an undeclared difference (-supervisord +unit)\n%s", key, strings.Join(lines, "\n"))
		}
	}
}

// checkList looks for entries that no step can match, twice or without a reason.
func checkList(t *testing.T, corpus []scenario, declared []difference) {
	t.Helper()
	steps := map[string]bool{}
	for _, s := range corpus {
		if s.load {
			steps[s.name] = true
		}
		for _, one := range s.steps {
			steps[s.name+": "+one.key] = true
		}
	}
	seen := map[string]bool{}
	for _, d := range declared {
		switch {
		case d.key == everyStep:
			continue
		case !steps[d.key]:
			t.Errorf("%s: no such step is in the corpus", d.key)
		case seen[d.key]:
			t.Errorf("%s: declared twice", d.key)
		case d.reason == noReason:
			t.Errorf("%s: declared without a reason", d.key)
		}
		seen[d.key] = true
	}
}
