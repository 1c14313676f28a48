package audit_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/audit"
)

func TestReadsAreWrittenDownWhereTheyAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		line  audit.Line
		noted bool
	}{
		{"a read", audit.Line{Method: "GET", By: access.ByToken, Status: 200}, false},
		{"a read that breaks", audit.Line{Method: "GET", By: access.ByToken, Status: 500}, false},
		{"a read by nobody", audit.Line{Method: "GET", Status: 401}, true},
		{"a read that the role does not allow", audit.Line{Method: "HEAD", By: access.ByToken, Status: 403}, true},
		{"a login too many", audit.Line{Method: "GET", Status: 429}, true},
		{"an operation", audit.Line{Method: "POST", By: access.ByToken, Status: 200}, true},
		{"an operation that is not waited for", audit.Line{Method: "POST", By: access.ByToken}, true},
		{"a path that there is not", audit.Line{Method: "POST", Status: 404}, false},
	} {
		var out bytes.Buffer
		audit.New(&out, nil).Note(tt.line)
		if noted := strings.Count(out.String(), "\n") == 1; noted != tt.noted {
			t.Errorf("%s: %q", tt.name, out.String())
		}
	}
}

// TestWhatClientsChooseIsCutOff: none can fill the log with one request.
func TestWhatClientsChooseIsCutOff(t *testing.T) {
	t.Parallel()
	const most = 200
	long := strings.Repeat("x", most-1) + "ä" + strings.Repeat("x", 5000)
	var out bytes.Buffer
	audit.New(&out, nil).Note(audit.Line{Method: long, Client: long, Node: long, Component: long, Operation: long, By: access.ByPassword})
	if cut := `"` + strings.Repeat("x", most-1) + `…"`; strings.Count(out.String(), cut) != 5 {
		t.Errorf("written down was %s", out.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestALineThatCannotBeWrittenIsLogged(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	audit.New(full{}, slog.New(slog.NewTextHandler(&logged, nil))).Note(audit.Line{Request: "r-1", Method: "POST", By: access.ByPassword})
	for _, want := range []string{"cannot write the audit log", "request=r-1", "no space left"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("logged was %s", logged.String())
		}
	}
}
