package manager_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
)

// TestAGoalIsNotReachedWhereAUnitHangs keeps the long poll of the unit's journal open while
// the unit answers nothing else: nothing shows that its component is still up.
func TestAGoalIsNotReachedWhereAUnitHangs(t *testing.T) {
	t.Parallel()
	var hangs atomic.Bool
	u := fakeunit.Backend("i1", nil, fakeunit.End{})
	u.Wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if hangs.Load() {
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	app := application(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, manager.Options{})
	if _, _, err := app.SetGoal(t.Context(), rest.GoalRequest{States: configured}); err != nil {
		t.Fatal(err)
	}
	awaitGoal(t, app, "reached", done)
	hangs.Store(true)
	g := awaitGoal(t, app, "doubted", func(g rest.Goal) bool { return !g.Done })
	if g.Reached != 0 || g.Wanted != 1 || len(g.Obstacles) != 1 || g.Obstacles[0].Node != "backend" || !strings.Contains(g.Obstacles[0].Reason, "has not answered since") {
		t.Errorf("the goal is %+v", g)
	}
	hangs.Store(false)
	awaitGoal(t, app, "reached again", done)
}
