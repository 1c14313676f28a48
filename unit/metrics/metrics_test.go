package metrics

import "testing"

func TestFamiliesAreWrittenAsOpenMetrics(t *testing.T) {
	t.Parallel()
	var w Writer
	w.Begin(Family{Name: "none", Kind: Gauge, Help: "Has no sample."})
	w.Begin(Family{Name: "cpu_seconds", Kind: Counter, Unit: "seconds", Help: `Says "a\b".`})
	w.Add(0.25, "name", "quote \" back \\ line \n bad \xff é")
	w.Add(1<<53, "name", "x", "more", "")
	w.Begin(Family{Name: "up", Kind: Gauge, Help: "None."})
	w.Add(1)
	w.Begin(Family{Name: "build", Kind: Info, Help: "Version."})
	w.Add(1, "version", "1")
	w.Begin(Family{Name: "state", Kind: StateSet, Help: "State."})
	w.States([]string{"on", "off"}, "off", "of", "x")
	const want = `# TYPE cpu_seconds counter
# UNIT cpu_seconds seconds
# HELP cpu_seconds Says \"a\\b\".
cpu_seconds_total{name="quote \" back \\ line \n bad � é"} 0.25
cpu_seconds_total{name="x",more=""} 9007199254740992
# TYPE up gauge
# HELP up None.
up 1
# TYPE build info
# HELP build Version.
build_info{version="1"} 1
# TYPE state stateset
# HELP state State.
state{of="x",state="on"} 0
state{of="x",state="off"} 1
# EOF
`
	if got := string(w.Bytes()); got != want {
		t.Errorf("got:\n%s", got)
	}
}
