package unit

import "testing"

func TestFamiliesAreWrittenAsOpenMetrics(t *testing.T) {
	t.Parallel()
	var w metricWriter
	w.begin(metricFamily{Name: "none", Kind: gauge, Help: "Has no sample."})
	w.begin(metricFamily{Name: "cpu_seconds", Kind: counter, Unit: "seconds", Help: `Says "a\b".`})
	w.add(0.25, "name", "quote \" back \\ line \n bad \xff é")
	w.add(1<<53, "name", "x", "more", "")
	w.begin(metricFamily{Name: "up", Kind: gauge, Help: "None."})
	w.add(1)
	w.begin(metricFamily{Name: "build", Kind: infoKind, Help: "Version."})
	w.add(1, "version", "1")
	w.begin(metricFamily{Name: "state", Kind: stateSet, Help: "State."})
	w.addStates([]string{"on", "off"}, "off", "of", "x")
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
	if got := string(w.finish()); got != want {
		t.Errorf("got:\n%s", got)
	}
}
