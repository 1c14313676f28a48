package logs

import (
	"math/rand/v2"
	"testing"

	"github.com/toskose/toskose/internal/dice"
)

func TestAPositionIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(dice.Seed(), 5))
	for range 200 {
		p := &position{sum: [2]byte{byte(random.IntN(256)), 7}}
		for range random.IntN(5) {
			s := p.of(keyOf(string(rune('a'+random.IntN(20)))), 1+random.IntN(30))
			for i := range s.logs {
				if random.IntN(3) == 0 {
					s.logs[i] = cursor{life: 1 + random.Uint64N(1<<60), gen: random.Uint64N(1 << uint(random.IntN(63))), offset: random.Uint64N(1 << uint(1+random.IntN(61)))}
				}
			}
		}
		text := p.String()
		again, err := parsePosition(text)
		if err != nil || again.String() != text {
			t.Fatalf("%+v is written as %s, which is read as %+v, %v", p, text, again, err)
		}
		for _, s := range p.at {
			for i, c := range s.logs {
				if got := again.of(s.key, len(s.logs)).logs[i]; got != c {
					t.Fatalf("%+v is read as %+v", c, got)
				}
			}
		}
	}
}

func TestACursorIsReadAsUnitsWriteIt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"AAAAAAAAAAAA.0.0", "ABCDEFGHIJ27.3.9223372036854775807", "777777777777.18446744073709551615.1"} {
		if c, err := parseCursor(text); err != nil || c.String() != text {
			t.Errorf("%s is read as %s, %v", text, c, err)
		}
	}
	for _, text := range []string{"", "A.0.0", "aaaaaaaaaaaa.0.0", "AAAAAAAAAAAA.0", "AAAAAAAAAAAA.0.-1", "AAAAAAAAAAAA.x.0", "AAAAAAAAAAAA.0.0.0"} {
		if c, err := parseCursor(text); err == nil {
			t.Errorf("%q is read as %s", text, c)
		}
	}
}

// FuzzPosition reads what anybody may send: it is an error, or what it says.
func FuzzPosition(f *testing.F) {
	p := &position{sum: [2]byte{1, 2}}
	p.of(keyOf("i1"), 3).logs[2] = cursor{life: 5, gen: 1, offset: 77}
	p.of(keyOf("i2"), 2).logs[0] = cursor{life: 1 << 60, gen: 0, offset: 0}
	f.Add(p.String())
	f.Add("AQAA")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePosition(text)
		if err != nil {
			return
		}
		again, err := parsePosition(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q is read as %s, and that as %v, %v", text, p, again, err)
		}
	})
}
