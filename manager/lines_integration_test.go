package manager_test

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
)

// TestAFollowerOfARealUnitOutlivesIt: the unit executes itself anew, and a follower has
// no line twice or missing, as one has that comes back with a position.
func TestAFollowerOfARealUnitOutlivesIt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the unit's binary; not with -short")
	}
	addr := realUnit(t)
	app := application(t, fakeunit.Containers{"backend": []netip.AddrPort{addr}}, manager.Options{})
	operate := func(operation string) {
		t.Helper()
		if _, err := run(t, app, rest.RunRequest{Node: "backend", Component: "api", Operation: operation, By: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	follower, err := app.Lines(t.Context(), rest.LogQuery{Of: []string{"api"}, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var lines []string
	after := ""
	await := func(r manager.LineReader, n int) {
		t.Helper()
		for len(lines) < n {
			entries, err := r.Next(ctx)
			if err != nil {
				t.Fatalf("after %q: %v", lines, err)
			}
			for _, e := range entries {
				switch e.Kind {
				case rest.LogPrinted:
					lines, after = append(lines, string(e.Line)), e.Position
				case rest.LogLost:
					t.Errorf("lost: %s", e.Why)
				case rest.LogLive, rest.LogSilent:
				}
			}
		}
	}
	operate("configure")
	await(follower, 2)
	operate("Standard.start")
	await(follower, 3)
	restart, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr.String()+"/RPC2",
		strings.NewReader("<methodCall><methodName>supervisor.restart</methodName></methodCall>"))
	if err != nil {
		t.Fatal(err)
	}
	restart.SetBasicAuth(fakeunit.User, fakeunit.Password)
	answer, err := http.DefaultClient.Do(restart)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	for { // the boot has ended what start left
		c, err := app.Component(ctx, "backend", "api", manager.StatesOnly)
		if err != nil {
			t.Fatal(err)
		}
		if c.State == "configured" && slices.Contains(c.Allowed, "Standard.start") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	before := after
	operate("Standard.start")
	await(follower, 4)
	again, err := app.Lines(t.Context(), rest.LogQuery{Of: []string{"api"}, After: before})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	await(again, 5)
	slices.Sort(lines[:2]) // of two streams
	if got := strings.Join(lines, "; "); got != "configured; on port 80; up; up; up" {
		t.Errorf("%s", got)
	}
}
