package rpc

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

// TestAPasswordsFileIsReadAgainAndEachOfItsLinesIsRight: one takes the place of another
// while clients still use that.
func TestAPasswordsFileIsReadAgainAndEachOfItsLinesIsRight(t *testing.T) {
	t.Parallel()
	text, unreadable := "old\n", error(nil)
	h := New(Options{
		Unit: newFake(), User: "admin", Password: text, Logger: quiet(),
		PasswordFile: func() ([]byte, error) { return []byte(text), unreadable },
	})
	for _, step := range []struct {
		text       string
		unreadable error
		old, now   bool
		passwords  int
	}{
		{"old\n", nil, true, false, 1},
		{"old\nnew", nil, true, true, 2},
		{"new\nnew\nold\n", nil, true, true, 2},
		{"", nil, true, true, 0}, // somebody is writing
		{"", errors.New("permission denied"), true, true, 0},
		{"new", nil, false, true, 1},
	} {
		text, unreadable = step.text, step.unreadable
		for password, right := range map[string]bool{"old": step.old, "new": step.now, "": false, "old\nnew": false} {
			r := request(t, http.MethodGet, "/instance", "")
			r.SetBasicAuth("admin", password)
			w := serve(h, r)
			if (w.Code == http.StatusOK) != right {
				t.Errorf("with %q in the file (%v), %q is answered with %d", step.text, step.unreadable, password, w.Code)
			}
			var id wire.Identity
			if w.Code == http.StatusOK && (json.Unmarshal(w.Body.Bytes(), &id) != nil || id.Credentials == nil || id.Credentials.Passwords != step.passwords) {
				t.Errorf("with %q in the file (%v), it says %s", step.text, step.unreadable, w.Body)
			}
		}
	}
}
