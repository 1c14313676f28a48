package visible_test

import (
	"encoding/json"
	"testing"

	"github.com/toskose/toskose/internal/visible"
)

func TestWhatIsHiddenIsMadeVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain, caf\u00e9, \u65e5\u672c": "plain, caf\u00e9, \u65e5\u672c",
		"a\x1b[31m\tb\n":                 "a\ufffd[31m\tb\ufffd",
		"\u009b\x7f\u202e\u2028\u200b":   "\ufffd\ufffd\ufffd\ufffd\ufffd",
		"\u0645\u06cc\u200c\u062e":       "\u0645\u06cc\u200c\u062e",
		"\U0001f469\u200d\U0001f680":     "\U0001f469\u200d\U0001f680",
	} {
		if got := visible.Text(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
		data, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		seen := visible.JSON(data)
		var again string
		if err := json.Unmarshal(seen, &again); err != nil || again != text {
			t.Errorf("%s is %q, %v", seen, again, err)
		}
		if got := visible.Text(string(seen)); got != string(seen) {
			t.Errorf("%q is not visible", seen)
		}
	}
	if got, want := string(visible.JSON([]byte("\"\U000e0001\""))), `"\udb40\udc01"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
