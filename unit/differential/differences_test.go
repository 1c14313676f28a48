package differential

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// differencesFile lists what differs on purpose.
const differencesFile = "testdata/differences.txt"

// noReason heads what `-update` found and nobody gave a reason for yet.
const noReason = "UNDECLARED"

// difference is a step whose two answers are not the same.
type difference struct {
	key    string // scenario: step
	reason string
	lines  []string // "- " and a line of supervisord's, "+ " and one of the unit's
}

// everyStep is the key of a rule: its lines are regular expressions, and what
// they match as a whole is declared wherever it occurs.
const everyStep = "every step"

// rule is a difference that many steps have.
type rule struct {
	lines []*regexp.Regexp
	used  bool
}

// readRules compiles the rules of the list.
func readRules(list []difference) ([]*rule, error) {
	var rules []*rule
	for _, d := range list {
		if d.key != everyStep {
			continue
		}
		r := &rule{}
		for _, line := range d.lines {
			re, err := regexp.Compile("^" + regexp.QuoteMeta(line[:2]) + "(?:" + line[2:] + ")$")
			if err != nil {
				return nil, err
			}
			r.lines = append(r.lines, re)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// without leaves out what the rules declare.
func without(lines []string, rules []*rule) []string {
	var left []string
next:
	for i := 0; i < len(lines); {
		for _, r := range rules {
			if r.matches(lines[i:]) {
				r.used = true
				i += len(r.lines)
				continue next
			}
		}
		left = append(left, lines[i])
		i++
	}
	return left
}

func (r *rule) matches(lines []string) bool {
	if len(lines) < len(r.lines) {
		return false
	}
	for i, re := range r.lines {
		if !re.MatchString(lines[i]) {
			return false
		}
	}
	return true
}

// readDifferences reads the list: a reason is a line, or several, that begin
// with "== ", and holds until the next.
func readDifferences() (head []string, list []difference, err error) {
	data, err := os.ReadFile(differencesFile)
	if err != nil {
		return nil, nil, err
	}
	var reason []string
	inReason := false
	for n, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		why, isReason := strings.CutPrefix(line, "== ")
		switch {
		case isReason && inReason:
			reason = append(reason, why)
		case isReason:
			reason = []string{why}
		case strings.HasPrefix(line, "# "):
			head = append(head, line)
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "+ "):
			if len(list) == 0 {
				return nil, nil, fmt.Errorf("%s:%d: an answer without a step", differencesFile, n+1)
			}
			last := &list[len(list)-1]
			last.lines = append(last.lines, line)
		case line != "":
			if len(reason) == 0 {
				return nil, nil, fmt.Errorf("%s:%d: a step without a reason", differencesFile, n+1)
			}
			list = append(list, difference{key: line, reason: strings.Join(reason, "\n")})
		}
		inReason = isReason
	}
	return head, list, nil
}

// writeDifferences writes the list with what was found: what is known keeps its
// place and reason, what is new comes last without one.
func writeDifferences(head []string, old []difference, found map[string][]string, order []string) error {
	var out strings.Builder
	out.WriteString(strings.Join(head, "\n") + "\n")
	reason := ""
	put := func(d difference) {
		if d.reason != reason {
			reason = d.reason
			out.WriteString("\n== " + strings.ReplaceAll(reason, "\n", "\n== ") + "\n")
		}
		lines := found[d.key]
		if d.key == everyStep {
			lines = d.lines
		}
		fmt.Fprintf(&out, "\n%s\n%s\n", d.key, strings.Join(lines, "\n"))
	}
	known := map[string]bool{}
	for _, d := range old {
		if (found[d.key] != nil || d.key == everyStep) && d.reason != noReason {
			known[d.key] = true
			put(d)
		}
	}
	for _, key := range order {
		if found[key] != nil && !known[key] {
			put(difference{key: key, reason: noReason})
		}
	}
	return os.WriteFile(differencesFile, []byte(out.String()), 0o644)
}

// compare gives the lines that only one of two answers has; nil: none.
func compare(supervisord, unit answer) []string {
	// length[i][j] is that of the longest common subsequence from i and j on.
	length := make([][]int, len(supervisord)+1)
	for i := range length {
		length[i] = make([]int, len(unit)+1)
	}
	for i := len(supervisord) - 1; i >= 0; i-- {
		for j := len(unit) - 1; j >= 0; j-- {
			if supervisord[i] == unit[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var lines []string
	for i, j := 0, 0; i < len(supervisord) || j < len(unit); {
		switch {
		case i < len(supervisord) && j < len(unit) && supervisord[i] == unit[j]:
			i++
			j++
		case j == len(unit) || i < len(supervisord) && length[i+1][j] >= length[i][j+1]:
			lines = append(lines, "- "+supervisord[i])
			i++
		default:
			lines = append(lines, "+ "+unit[j])
			j++
		}
	}
	return lines
}
