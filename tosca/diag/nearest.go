package diag

import "strings"

// longestCompared bounds the names that are compared: longer ones are no typo
// of anything, and comparing costs the product of both lengths.
const longestCompared = 64

// Nearest gives the candidate that name is most likely a misspelling of, or an
// empty string where none is near. It ignores case, counts an exchange of
// neighbours as one slip, and allows one slip in every three letters. Of two
// candidates that are equally near the first wins; where there are more, anything
// may have been meant.
func Nearest(name string, candidates []string) string {
	if name == "" || len(name) > longestCompared {
		return ""
	}
	folded := []rune(strings.ToLower(name))
	best, ties, bestDistance := "", 0, max(len(folded)/3, min(len(folded)-1, 1))+1
	for _, c := range candidates {
		if c == name || len(c) > longestCompared {
			continue
		}
		other := []rune(strings.ToLower(c))
		if abs(len(other)-len(folded)) > bestDistance {
			continue
		}
		d := distance(folded, other)
		switch {
		case d < bestDistance:
			best, ties, bestDistance = c, 1, d
		case d == bestDistance:
			ties++
		}
	}
	if ties > 2 {
		return ""
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// distance is the optimal string alignment distance.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
