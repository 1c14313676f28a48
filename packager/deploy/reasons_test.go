package deploy

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager/deploy/backend"
)

func TestOfAFailedJobIsShownWhatItsScriptsSaid(t *testing.T) {
	t.Parallel()
	const log = `time=2026-11-23T18:15:58.825Z level=INFO msg=process component=import operation=run state=STARTING
the import is of no use
time=2026-11-23T18:15:58.830Z level=WARN msg="exited: run (exit status 3; not expected)" component=import operation=run state=EXITED
time=2026-11-23T18:15:58.833Z level=INFO msg="shutting down" state=SHUTDOWN
time=2026-11-23T18:15:58.834Z level=ERROR msg=ended because="index 1 of import:Task.run is failed, so the unit ends with 3"
time=2026-11-23T18:16:00.561Z level=DEBUG msg=`
	const want = `the import is of no use
time=2026-11-23T18:15:58.830Z level=WARN msg="exited: run (exit status 3; not expected)" component=import operation=run state=EXITED
time=2026-11-23T18:15:58.834Z level=ERROR msg=ended because="index 1 of import:Task.run is failed, so the unit ends with 3"
`
	if diff := cmp.Diff(want, withoutRoutine(log)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatHasOnlyJustStartedIsWaitedForAndIsNoReason(t *testing.T) {
	t.Parallel()
	r := &fakeBackend{failed: []backend.Failure{{Service: "store", Why: "has only just started", Young: true}}}
	d, _ := managed(t, r, func(w http.ResponseWriter, _ *http.Request) { reply(t, w, nodes("running", "running")) })
	if said, want := waitInVain(t, d), "store: has only just started"; said != want {
		t.Errorf("it says %s, want %s", said, want)
	}
	if said := d.reasons(t.Context()); said != "" {
		t.Errorf("reasons:%s", said)
	}
}

func TestTheLogOfAContainerIsShownWhoseUnitHasNotAnsweredInTime(t *testing.T) {
	t.Parallel()
	r := &fakeBackend{log: "first\ncannot listen\n"}
	d, _ := managed(t, r, func(w http.ResponseWriter, _ *http.Request) { reply(t, w, nodes("running", "unreachable")) })
	waitInVain(t, d)
	want := "\n  frontend: its unit does not answer\n    first\n    cannot listen"
	if said := d.reasons(t.Context()); said != want {
		t.Errorf("reasons:%s\nwant:%s", said, want)
	}
	r.failed = []backend.Failure{{Service: "frontend", Why: "unhealthy"}}
	if said := d.reasons(t.Context()); strings.Contains(said, "does not answer") {
		t.Errorf("it says twice what is wrong:%s", said)
	}
}
