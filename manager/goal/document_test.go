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
		`{"revision": "x"}`:         "COUNTER:ID",
		`{"revison": "1:a"}`:        "revison",
		strings.Repeat("x", 70_000): "65536",
	} {
		if _, err := goal.ParseDocument([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}
