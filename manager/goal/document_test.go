package goal_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/unit/wire"
)

func TestADocumentIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, d := range []goal.Document{
		{Revision: wire.Revision{Counter: 7, ID: "abc"}, Asked: wire.Revision{Counter: 5, ID: "x"}, By: "jo", At: at, All: goal.Up},
		{Revision: wire.Revision{Counter: 1, ID: "z"}, Holds: map[string]goal.Hold{"api": {By: "jo", At: at, Operation: "Standard.stop", State: "configured"}}},
	} {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := goal.ParseDocument(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&d, again); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for text, says := range map[string]string{
		`{"revision": "x"}`:  "COUNTER:ID",
		`{"revison": "1:a"}`: "it has no revision",
		`{"revision": "1:a", "states": {"api": {"on": "any"}}}`: "states",
		strings.Repeat("x", 70_000):                             "65536",
	} {
		if _, err := goal.ParseDocument([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

// TestWhatANewerManagerSaysIsKept: in a rolling deployment managers of two versions
// read each other's goals, and either may add to one.
func TestWhatANewerManagerSaysIsKept(t *testing.T) {
	t.Parallel()
	text := `{"revision":"7:abc","asked":"7:abc","all":"up","pace":{"slow":["api", 3]},"note":null,
		"holds":{"api":{"by":"jo","until":"2027-01-01T00:00:00Z"},"gui":{"by":"bo"}}}`
	d, err := goal.ParseDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d = d.Held(map[string]goal.Hold{"log": {By: "al"}}, map[string]goal.Hold{"gui": {By: "bo"}})
	d.Revision.Counter++
	again, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"all":"up","asked":"7:abc","holds":{"api":{"by":"jo","until":"2027-01-01T00:00:00Z"},"log":{"by":"al"}},` +
		`"note":null,"pace":{"slow":["api",3]},"resumed":{"gui":{"by":"bo"}},"revision":"8:abc"}`
	if string(again) != want {
		t.Errorf("got  %s\nwant %s", again, want)
	}
}
