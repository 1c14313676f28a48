package series_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/series"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(tick int) time.Time { return begin.Add(time.Duration(tick) * series.Interval) }

func all(string) bool { return true }

func TestNumbersOverTime(t *testing.T) {
	t.Parallel()
	s := series.New()
	s.Add(at(0), []series.Value{{Component: "api", State: "running", Processes: 1, CPU: 1, Memory: 2 << 20}})
	s.Add(at(1), []series.Value{{Component: "api", State: "running", Processes: 1, CPU: 4, Memory: 4 << 20}, {Component: "gui", State: "created"}})
	s.Add(at(2), []series.Value{{Component: "api", State: "configured"}})
	s.Add(at(3), []series.Value{{Component: "api", State: "running", Restarts: 1, Processes: 1, CPU: 1, Memory: 1 << 20}})
	w := s.Since(at(1), all)
	if len(w.At) != 3 || len(w.Components) != 2 || !w.At[0].Equal(at(1)) {
		t.Fatalf("%+v", w)
	}
	api := w.Components[0]
	if *api.CPU[0] != 20 || api.CPU[1] != nil || *api.Memory[0] != 4<<20 || *api.Restarts[1] != 0 || *api.Restarts[2] != 1 {
		t.Errorf("%+v", api)
	}
	if fmt.Sprint(api.States) != "[running configured running]" || fmt.Sprintf("%q", w.Components[1].States) != `["created" "" ""]` {
		t.Errorf("%+v", w.Components)
	}
	if *w.Total.Memory[2] != 1<<20 || *w.Total.CPU[0] != 20 {
		t.Errorf("%+v", w.Total)
	}
	if none := s.Since(at(9), all); len(none.At) != 0 {
		t.Errorf("%d samples of the future", len(none.At))
	}
}

func TestTheRingForgets(t *testing.T) {
	t.Parallel()
	s := series.New()
	s.Add(at(0), []series.Value{{Component: "gone", State: "running"}})
	for i := range series.Length + 10 {
		s.Add(at(i+1), []series.Value{{Component: "api", State: "running", Memory: int64(i) << 10}})
	}
	w := s.Since(time.Time{}, all)
	if len(w.At) != series.Length || len(w.Components) != 1 || *w.Components[0].Memory[series.Length-1] != (series.Length+9)<<10 {
		t.Errorf("%d samples of %d components", len(w.At), len(w.Components))
	}
}

// A thousand components take less than 30 MB.
func TestTheSizeOfTheRing(t *testing.T) { //nolint:paralleltest // it measures the heap
	values := make([]series.Value, 1000)
	for i := range values {
		values[i] = series.Value{Component: fmt.Sprintf("component%04d", i), State: "running", Processes: 3, CPU: 1, Memory: 1 << 30}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	s := series.New()
	for i := range 2 * series.Length {
		for j := range values {
			values[j].CPU += float64(j) / 100
		}
		s.Add(at(i), values)
	}
	size := heap() - before
	runtime.KeepAlive(s)
	t.Logf("%.1f MB", float64(size)/1e6)
	if size > 30_000_000 || size < 1_000_000 {
		t.Errorf("1,000 components take %d bytes", size)
	}
}
