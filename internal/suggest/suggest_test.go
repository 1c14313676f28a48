package suggest

import (
	"math/rand/v2"
	"testing"
)

// aligned is the optimal string alignment distance, by its definition.
func aligned(a, b []rune) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

func TestDistancesBelowTheLimitAreExact(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	name := func() []rune {
		made := make([]rune, random.IntN(14))
		for i := range made {
			made[i] = []rune("abcA\u00e9\u0161")[random.IntN(6)]
		}
		return made
	}
	near := 0
	for range 50000 {
		a, b, limit := name(), name(), 1+random.IntN(8)
		want := aligned(a, b)
		if apart := lettersOf(a).apart(lettersOf(b)); apart > want {
			t.Fatalf("%q and %q are said to be %d apart at least, and are %d", string(a), string(b), apart, want)
		}
		if abs(len(a)-len(b)) >= limit {
			continue // nobody asks
		}
		got := distance(a, b, limit)
		if want < limit {
			near++
		}
		if min(got, limit) != min(want, limit) {
			t.Fatalf("%q and %q are %d apart, not %d, with the limit %d", string(a), string(b), want, got, limit)
		}
	}
	if near < 1000 {
		t.Errorf("only %d pairs are near", near)
	}
}

func TestNearestFindsMisspellings(t *testing.T) {
	t.Parallel()
	names := []string{"backend", "frontend", "store", "db"}
	for name, want := range map[string]string{
		"bakcend": "backend", "Backend": "backend", "frontned": "frontend", "stores": "store",
		"web": "", "": "", "dp": "db", "x": "", "completely": "", "backend": "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// Where more than two are equally near, a suggestion would be a guess.
func TestNothingIsSuggestedWhereAnythingMayBeMeant(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{[]string{"my.A", "my.B", "my.C"}, ""},
		{[]string{"my.A", "my.B"}, "my.A"},
		{[]string{"my.A", "my.B", "my.C", "my.DD"}, ""},
		{[]string{"my.AA", "my.BB", "my.CC", "my.C"}, "my.C"},
	} {
		if got := Nearest("my.D", tt.names); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.names, got, tt.want)
		}
	}
}
