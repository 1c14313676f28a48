package unit

import (
	"cmp"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/proctree"
	"github.com/toskose/toskose/unit/wire"
)

// usage is the current resource usage of a program's processes.
type usage struct {
	cpu       time.Duration
	memory    int64
	processes int
}

// programMetrics is a program with its measurements.
type programMetrics struct {
	*process.Program
	labels []string
	status process.Status
	counts process.Counts
	usage  usage
}

// WriteMetrics writes the metrics of the unit, its programs and components as OpenMetrics text.
func (u *Unit) WriteMetrics(to io.Writer) error {
	programs, unclaimed, err := u.measure()
	if err != nil {
		return err
	}
	var w metricWriter
	u.writeUnit(&w, unclaimed)
	u.writeComponents(&w)
	writeRuns(&w, programs)
	writeUse(&w, programs)
	writeLogs(&w, programs)
	_, err = to.Write(w.finish())
	return err
}

// measure reads the counters first, so that a process that ends meanwhile is missing for a moment
// rather than counted twice.
func (u *Unit) measure() (programs []programMetrics, unclaimed int, err error) {
	index := map[*process.Program]int{}
	for i, p := range u.names.all() {
		index[p] = i
		programs = append(programs, programMetrics{
			Program: p, labels: []string{"component", p.Config().Group, "operation", p.Config().Name},
			status: p.Status(), counts: p.Counts(),
		})
	}
	processes, err := u.programs.Processes()
	if err != nil {
		return nil, 0, err
	}
	for _, found := range processes {
		owner := u.programs.Owner(found.Program)
		i, ok := index[owner]
		if owner == nil || !ok {
			unclaimed++
			continue
		}
		programs[i].usage.add(found)
	}
	return programs, unclaimed, nil
}

func (m *usage) add(p proctree.Process) {
	m.cpu += p.CPU + p.Waited
	m.memory += p.Memory
	if !p.Zombie {
		m.processes++
	}
}

func (u *Unit) writeUnit(w *metricWriter, unclaimed int) {
	w.begin(metricFamily{Name: "toskose_unit", Kind: infoKind, Help: "The unit and its journal."})
	w.add(1, "version", u.version, "go", runtime.Version(), "identifier", u.Identification(), "instance", u.components.Instance())
	w.begin(metricFamily{Name: "toskose_unit_start_time_seconds", Kind: gauge, Unit: "seconds", Help: "When the unit started, since 1970."})
	w.add(seconds(u.booted))
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) == nil {
		w.begin(metricFamily{Name: "toskose_unit_cpu_seconds", Kind: counter, Unit: "seconds", Help: "CPU time of the unit itself."})
		w.add(time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds())
	}
	if resident, ok := ownMemory(); ok {
		w.begin(metricFamily{Name: "toskose_unit_resident_memory_bytes", Kind: gauge, Unit: "bytes", Help: "Resident memory of the unit itself."})
		w.add(float64(resident))
	}
	w.begin(metricFamily{Name: "toskose_unit_journal_entries", Kind: counter, Help: "Entries written to the journal since the container was created."})
	w.add(float64(u.components.Seq()))
	w.begin(metricFamily{Name: "toskose_unit_unclaimed_processes", Kind: gauge, Help: "Processes of the container that belong to no program."})
	w.add(float64(unclaimed))
	streams := []wire.Stream{wire.Stdout, wire.Stderr}
	w.begin(metricFamily{Name: "toskose_unit_output_bytes", Kind: counter, Unit: "bytes", Help: "Bytes that the container's output accepted."})
	for _, stream := range streams {
		w.add(float64(u.programs.ConsoleStats(stream).Written), "stream", string(stream))
	}
	w.begin(metricFamily{Name: "toskose_unit_output_dropped_bytes", Kind: counter, Unit: "bytes", Help: "Bytes that the container's output did not accept."})
	for _, stream := range streams {
		w.add(float64(u.programs.ConsoleStats(stream).Dropped), "stream", string(stream))
	}
}

func (u *Unit) writeComponents(w *metricWriter) {
	_, components := u.components.Components()
	w.begin(metricFamily{Name: "toskose_component_state", Kind: stateSet, Help: "The state of a component, by its protocol."})
	for _, c := range components {
		w.addStates(u.components.States(c.Name, c.State), c.State, "component", c.Name)
	}
	w.begin(metricFamily{Name: "toskose_component_executing", Kind: gauge, Help: "1 while an operation of the component is executed."})
	for _, c := range components {
		executing := 0.0
		if c.Executing != "" {
			executing = 1
		}
		w.add(executing, "component", c.Name)
	}
}

var processStates = []wire.ProcessState{
	wire.Stopped, wire.Starting, wire.Running, wire.Backoff, wire.Stopping, wire.Exited, wire.Fatal, wire.Unknown,
}

func writeRuns(w *metricWriter, programs []programMetrics) {
	var states []string
	for _, s := range processStates {
		states = append(states, s.String())
	}
	w.begin(metricFamily{Name: "toskose_program_state", Kind: stateSet, Help: "The state of a program, by Supervisor's names."})
	for _, p := range programs {
		w.addStates(states, p.status.State.String(), p.labels...)
	}
	w.begin(metricFamily{Name: "toskose_program_starts", Kind: counter, Help: "Starts of the main process."})
	for _, p := range programs {
		w.add(float64(p.counts.Starts), p.labels...)
	}
	w.begin(metricFamily{Name: "toskose_program_restarts", Kind: counter, Help: "Starts that were not requested: retries, and restarts after an exit."})
	for _, p := range programs {
		w.add(float64(p.counts.Restarts), p.labels...)
	}
	w.begin(metricFamily{Name: "toskose_program_exits", Kind: counter, Help: "Ends of the main process, by exit code or by the signal that ended it."})
	for _, p := range programs {
		for _, exit := range exitsOf(p.counts) {
			code, signal := strconv.Itoa(exit.Code), ""
			if exit.Signalled() {
				code, signal = "", exit.String()
			}
			w.add(float64(p.counts.Exits[exit]), p.with("code", code, "signal", signal)...)
		}
	}
	w.begin(metricFamily{Name: "toskose_program_live", Kind: gauge, Help: "1 if a running program passes its liveness checks, else 0; only programs with such checks."})
	for _, p := range programs {
		if p.Config().Live != nil {
			live := 0.0
			if p.status.State == wire.Running && p.status.Failing == nil {
				live = 1
			}
			w.add(live, p.labels...)
		}
	}
	w.begin(metricFamily{Name: "toskose_program_live_failures", Kind: counter, Help: "Failed liveness checks."})
	for _, p := range programs {
		if p.Config().Live != nil {
			w.add(float64(p.counts.LiveFailures), p.labels...)
		}
	}
	w.begin(metricFamily{Name: "toskose_program_start_time_seconds", Kind: gauge, Unit: "seconds", Help: "When the main process was started last, since 1970."})
	for _, p := range programs {
		if !p.status.Started.IsZero() {
			w.add(seconds(p.status.Started), p.labels...)
		}
	}
}

// exitsOf returns the ways in which a program ended, signals last.
func exitsOf(c process.Counts) []process.Exit {
	return slices.SortedFunc(maps.Keys(c.Exits), func(a, b process.Exit) int {
		return cmp.Or(cmp.Compare(a.Signal, b.Signal), cmp.Compare(a.Code, b.Code))
	})
}

func (m programMetrics) with(labels ...string) []string { return slices.Concat(m.labels, labels) }

func writeUse(w *metricWriter, programs []programMetrics) {
	w.begin(metricFamily{Name: "toskose_program_cpu_seconds", Kind: counter, Unit: "seconds", Help: "CPU time of the program's processes, including ended ones."})
	for _, p := range programs {
		w.add(p.CPU(p.counts.CPU+p.usage.cpu).Seconds(), p.labels...)
	}
	w.begin(metricFamily{Name: "toskose_program_resident_memory_bytes", Kind: gauge, Unit: "bytes", Help: "Resident memory of the program's processes."})
	for _, p := range programs {
		w.add(float64(p.usage.memory), p.labels...)
	}
	w.begin(metricFamily{Name: "toskose_program_processes", Kind: gauge, Help: "Live processes of the program."})
	for _, p := range programs {
		w.add(float64(p.usage.processes), p.labels...)
	}
}

// writeLogs writes the metrics of log files and of copies to the container's output. Streams that
// share a file have the same values.
func writeLogs(w *metricWriter, programs []programMetrics) {
	type stream struct {
		labels []string
		stats  logs.Stats
	}
	var files, copied []stream
	for _, p := range programs {
		for _, name := range []wire.Stream{wire.Stdout, wire.Stderr} {
			labels := p.with("stream", string(name))
			if f, err := p.Log(name); err == nil && f != nil {
				files = append(files, stream{labels, f.Stats()})
			}
			if s, ok := p.CopyStats(name); ok {
				copied = append(copied, stream{labels, s})
			}
		}
	}
	family := func(name, help string, streams []stream, value func(logs.Stats) uint64) {
		w.begin(metricFamily{Name: name, Kind: counter, Unit: "bytes", Help: help})
		for _, s := range streams {
			w.add(float64(value(s.stats)), s.labels...)
		}
	}
	written := func(s logs.Stats) uint64 { return s.Written }
	dropped := func(s logs.Stats) uint64 { return s.Dropped }
	family("toskose_program_log_bytes", "Bytes written to the log.", files, written)
	family("toskose_program_log_dropped_bytes", "Bytes that could not be written to the log, for example because of a full disk.", files, dropped)
	family("toskose_program_output_bytes", "Bytes of lines copied to the container's output.", copied, written)
	family("toskose_program_output_dropped_bytes", "Bytes of lines that were dropped because the container's output was not read.", copied, dropped)
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// ownMemory returns the unit's resident memory in bytes (proc_pid_statm(5)).
func ownMemory() (int64, bool) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(unix.Getpagesize()), err == nil
}
