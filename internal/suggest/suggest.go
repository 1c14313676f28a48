// Package suggest finds the name that a misspelled name most likely means. It starts no goroutine.
package suggest

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// longestCompared bounds the names compared, as the cost is the product of their
// lengths, and longer names are rarely misspelt.
const longestCompared = 64

// Nearest returns the candidate that name is most likely a misspelling of, or an empty
// string. It ignores case, counts a transposition as one edit, and allows one edit for
// every three letters. If two candidates are equally near, the first wins; if more are,
// it returns none.
func Nearest(name string, candidates []string) string {
	if name == "" || len(name) > longestCompared {
		return ""
	}
	var room, otherRoom [longestCompared]rune
	folded := fold(room[:0], name)
	letters := lettersOf(folded)
	limit := max(len(folded)/3, min(len(folded)-1, 1)) + 1 // the distance must be below it
	best, ties, bestDistance := "", 0, limit
	for _, c := range candidates {
		if c == name || len(c) > longestCompared {
			continue
		}
		other := fold(otherRoom[:0], c)
		if abs(len(other)-len(folded)) >= limit || letters.apart(lettersOf(other)) >= limit {
			continue
		}
		switch d := distance(folded, other, limit); {
		case d < bestDistance:
			best, ties, bestDistance, limit = c, 1, d, d+1
		case d == bestDistance && ties > 0:
			ties++
		}
	}
	if ties > 2 {
		return ""
	}
	return best
}

// fold appends the letters of a name in folded case.
func fold(to []rune, name string) []rune {
	for i := range len(name) {
		c := name[i]
		if c >= utf8.RuneSelf {
			return []rune(strings.ToLower(name))
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		to = append(to, rune(c))
	}
	return to
}

// letters is a set of letters in 64 bits; different letters may share a bit.
type letters uint64

func lettersOf(name []rune) letters {
	var all letters
	for _, r := range name {
		all |= 1 << (r & 63)
	}
	return all
}

// apart returns a lower bound of the edits between two names, as one edit adds or
// removes at most one letter.
func (l letters) apart(other letters) int {
	return max(bits.OnesCount64(uint64(l&^other)), bits.OnesCount64(uint64(other&^l)))
}

func abs(n int) int { return max(n, -n) }

// distance returns the optimal string alignment distance, or any number of at least
// limit if the distance is not below it.
func distance(a, b []rune, limit int) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var rows [3][longestCompared + 2]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	lowest := 0 // of the last row
	for i := 1; i <= len(a); i++ {
		// Further from the diagonal there are at least limit edits.
		from, to := max(1, i-limit), min(len(b), i+limit)
		row[from-1] = limit
		if from == 1 {
			row[0] = i
		}
		if i > 1 && i+limit <= len(b) {
			last[i+limit] = limit
		}
		above := lowest
		lowest = row[from-1]
		for j := from; j <= to; j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			lowest = min(lowest, row[j])
		}
		if lowest >= limit && above >= limit { // a transposition goes back two rows
			return limit
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
