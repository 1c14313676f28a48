package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/testunit"
)

// TestTheAuditLogGoesWhereItIsTold: to the standard output, which has nothing else, to the
// standard error, or to the end of a file that nobody else reads.
func TestTheAuditLogGoesWhereItIsTold(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit")
	if err := os.WriteFile(file, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"", "stdout", "stderr", file} {
		args, env := image(t)
		env["TOSKOSE_AUDIT_LOG"] = where
		ctx, stop := context.WithCancel(t.Context())
		var out, logs, health testunit.Output
		ended := make(chan int, 1)
		go func() { ended <- run(ctx, args, get(env), &out, &logs) }()
		deadline := time.Now().Add(time.Minute)
		for run(t.Context(), []string{"health"}, get(env), &health, &health) != 0 {
			if time.Now().After(deadline) {
				t.Fatalf("it does not become healthy: %s", logs.String())
			}
			time.Sleep(5 * time.Millisecond) // there is nothing else to wait on
		}
		answer, err := http.Get("http://127.0.0.1:" + env["TOSKOSE_MANAGER_PORT"] + "/api/v1/app")
		if err != nil || answer.StatusCode != http.StatusUnauthorized {
			t.Fatalf("%v, %v", answer, err)
		}
		answer.Body.Close()
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("it ended with %d: %s", code, logs.String())
		}
		kept, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		const line = `"route":"/api/v1/*","status":401`
		got := [3]int{strings.Count(out.String(), line), strings.Count(logs.String(), line), strings.Count(string(kept), line)}
		want := map[string][3]int{"": {1, 0, 0}, "stdout": {1, 0, 0}, "stderr": {0, 1, 0}, file: {0, 0, 1}}[where]
		if got != want || where != "" && where != "stdout" && out.String() != "" || !strings.HasPrefix(string(kept), "before\n") {
			t.Errorf("to %q: %v lines, not %v, on output, error and file\n%s", where, got, want, out.String())
		}
	}
}

func TestAnAuditLogThatCannotBeWrittenKeepsTheManagerFromServing(t *testing.T) {
	t.Parallel()
	args, env := image(t)
	env["TOSKOSE_AUDIT_LOG"] = filepath.Join(t.TempDir(), "no", "folder")
	var out, logs testunit.Output
	if code := run(t.Context(), args, get(env), &out, &logs); code != 1 || !strings.Contains(logs.String(), "TOSKOSE_AUDIT_LOG") {
		t.Errorf("%d: %s", code, logs.String())
	}
}
