package unit

import (
	"io"
	"os"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/metrics"
	"github.com/toskose/toskose/unit/proctree"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// MetricsType is the content type of what WriteMetrics writes.
const MetricsType = metrics.ContentType

// usage is what the processes of one program use now.
type usage struct {
	cpu       time.Duration
	memory    int64
	processes int
}

// measured is a program with all its numbers.
type measured struct {
	*program
	labels []string
	state  wire.ProcessState
	since  time.Time // of the last start
	counts counts
	usage  usage
}

// WriteMetrics writes what is known of the unit, its programs and components as
// OpenMetrics text.
func (u *Unit) WriteMetrics(to io.Writer) error {
	programs, unclaimed, err := u.measure()
	if err != nil {
		return err
	}
	var w metrics.Writer
	u.writeUnit(&w, unclaimed)
	u.writeComponents(&w)
	writeRuns(&w, programs)
	writeUse(&w, programs)
	writeLogs(&w, programs)
	_, err = to.Write(w.Bytes())
	return err
}

// measure takes the counts first: a process that ends meanwhile is then missing
// for a moment, and not there twice.
func (u *Unit) measure() (programs []measured, unclaimed int, err error) {
	index := map[*program]int{}
	for i, p := range u.names.all() {
		s, _ := p.observe()
		index[p] = i
		programs = append(programs, measured{
			program: p, labels: []string{"component", p.cfg.Group, "operation", p.cfg.Name},
			state: s.state, since: s.started, counts: p.tally.counts(),
		})
	}
	processes, err := u.tree.Scan()
	if err != nil {
		return nil, 0, err
	}
	for _, process := range processes {
		owner := u.roster.owner(process.Program)
		i, ok := index[owner]
		if owner == nil || !ok {
			unclaimed++
			continue
		}
		programs[i].usage.add(process)
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

func (u *Unit) writeUnit(w *metrics.Writer, unclaimed int) {
	w.Begin(metrics.Family{Name: "toskose_unit", Kind: metrics.Info, Help: "The unit and the journal that it keeps."})
	w.Add(1, "version", u.version, "go", runtime.Version(), "identifier", u.Identification(), "instance", u.journal.Instance())
	w.Begin(metrics.Family{Name: "toskose_unit_start_time_seconds", Kind: metrics.Gauge, Unit: "seconds", Help: "When the unit started, since 1970."})
	w.Add(seconds(u.booted))
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) == nil {
		w.Begin(metrics.Family{Name: "toskose_unit_cpu_seconds", Kind: metrics.Counter, Unit: "seconds", Help: "CPU time of the unit itself."})
		w.Add(time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds())
	}
	if resident, ok := ownMemory(); ok {
		w.Begin(metrics.Family{Name: "toskose_unit_resident_memory_bytes", Kind: metrics.Gauge, Unit: "bytes", Help: "Resident memory of the unit itself."})
		w.Add(float64(resident))
	}
	w.Begin(metrics.Family{Name: "toskose_unit_journal_entries", Kind: metrics.Counter, Help: "Entries that were written to the journal, in all lives of the container."})
	w.Add(float64(u.journal.Seq()))
	w.Begin(metrics.Family{Name: "toskose_unit_unclaimed_processes", Kind: metrics.Gauge, Help: "Processes of the container that belong to no program."})
	w.Add(float64(unclaimed))
	var streams []wire.Stream
	var stats []logs.Stats
	for _, stream := range []wire.Stream{wire.Stdout, wire.Stderr} {
		if s, ok := u.console.stats(stream); ok {
			streams, stats = append(streams, stream), append(stats, s)
		}
	}
	w.Begin(metrics.Family{Name: "toskose_unit_output_bytes", Kind: metrics.Counter, Unit: "bytes", Help: "Bytes that the container's output took of copies of lines."})
	for i, stream := range streams {
		w.Add(float64(stats[i].Written), "stream", string(stream))
	}
	w.Begin(metrics.Family{Name: "toskose_unit_output_dropped_bytes", Kind: metrics.Counter, Unit: "bytes", Help: "Bytes of such copies that it did not take."})
	for i, stream := range streams {
		w.Add(float64(stats[i].Dropped), "stream", string(stream))
	}
}

func (u *Unit) writeComponents(w *metrics.Writer) {
	_, components := u.ledger.components()
	w.Begin(metrics.Family{Name: "toskose_component_state", Kind: metrics.StateSet, Help: "The state of a component, by its protocol."})
	for _, c := range components {
		w.States(u.ledger.states(c.Name, c.State), c.State, "component", c.Name)
	}
	w.Begin(metrics.Family{Name: "toskose_component_executing", Kind: metrics.Gauge, Help: "1 while an operation of the component is executed."})
	for _, c := range components {
		executing := 0.0
		if c.Executing != "" {
			executing = 1
		}
		w.Add(executing, "component", c.Name)
	}
}

// states gives the states that a component can be in, and the one that it is in.
func (l *ledger) states(component, current string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var states []string
	if protocol := l.lifecycles[component].protocol; protocol != nil {
		states = slices.Clone(protocol.States)
	}
	if !slices.Contains(states, current) {
		states = append(states, current)
	}
	return states
}

var processStates = []wire.ProcessState{
	wire.Stopped, wire.Starting, wire.Running, wire.Backoff, wire.Stopping, wire.Exited, wire.Fatal, wire.Unknown,
}

func writeRuns(w *metrics.Writer, programs []measured) {
	var states []string
	for _, s := range processStates {
		states = append(states, s.String())
	}
	w.Begin(metrics.Family{Name: "toskose_program_state", Kind: metrics.StateSet, Help: "The state of a program, by Supervisor's names."})
	for _, p := range programs {
		w.States(states, p.state.String(), p.labels...)
	}
	w.Begin(metrics.Family{Name: "toskose_program_starts", Kind: metrics.Counter, Help: "Starts of the main process."})
	for _, p := range programs {
		w.Add(float64(p.counts.starts), p.labels...)
	}
	w.Begin(metrics.Family{Name: "toskose_program_restarts", Kind: metrics.Counter, Help: "Those of the starts that nobody asked for: retries, and restarts after an exit."})
	for _, p := range programs {
		w.Add(float64(p.counts.restarts), p.labels...)
	}
	w.Begin(metrics.Family{Name: "toskose_program_exits", Kind: metrics.Counter, Help: "Ends of the main process, by exit code or by the signal that ended it."})
	for _, p := range programs {
		for _, key := range p.counts.keys() {
			code, signal := strconv.Itoa(key.code), ""
			if key.signal != 0 {
				code, signal = "", reaper.SignalName(syscall.Signal(key.signal))
			}
			w.Add(float64(p.counts.exits[key]), p.with("code", code, "signal", signal)...)
		}
	}
	w.Begin(metrics.Family{Name: "toskose_program_start_time_seconds", Kind: metrics.Gauge, Unit: "seconds", Help: "When the main process was started last, since 1970."})
	for _, p := range programs {
		if !p.since.IsZero() {
			w.Add(seconds(p.since), p.labels...)
		}
	}
}

func (c counts) keys() []exitKey {
	keys := make([]exitKey, 0, len(c.exits))
	for key := range c.exits {
		keys = append(keys, key)
	}
	sort.SliceStable(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		return a.signal < b.signal || a.signal == b.signal && a.code < b.code
	})
	return keys
}

func (m measured) with(labels ...string) []string { return slices.Concat(m.labels, labels) }

func writeUse(w *metrics.Writer, programs []measured) {
	w.Begin(metrics.Family{Name: "toskose_program_cpu_seconds", Kind: metrics.Counter, Unit: "seconds", Help: "CPU time of the program's processes, those that have ended too."})
	for _, p := range programs {
		w.Add(p.tally.show(p.counts.spent+p.usage.cpu).Seconds(), p.labels...)
	}
	w.Begin(metrics.Family{Name: "toskose_program_resident_memory_bytes", Kind: metrics.Gauge, Unit: "bytes", Help: "Resident memory of the program's processes."})
	for _, p := range programs {
		w.Add(float64(p.usage.memory), p.labels...)
	}
	w.Begin(metrics.Family{Name: "toskose_program_processes", Kind: metrics.Gauge, Help: "Live processes of the program."})
	for _, p := range programs {
		w.Add(float64(p.usage.processes), p.labels...)
	}
}

// writeLogs tells of log files, and of copies to the container's output. Streams
// that share a file have one number for both.
func writeLogs(w *metrics.Writer, programs []measured) {
	type stream struct {
		labels []string
		stats  logs.Stats
	}
	var files, copied []stream
	for _, p := range programs {
		for _, name := range []wire.Stream{wire.Stdout, wire.Stderr} {
			labels := p.with("stream", string(name))
			f := p.stdoutLog
			if name == wire.Stderr {
				f = p.stderrLog
			}
			if f != nil {
				files = append(files, stream{labels, f.Stats()})
			}
			if s, ok := p.copies.stats(name); ok {
				copied = append(copied, stream{labels, s})
			}
		}
	}
	family := func(name, help string, streams []stream, value func(logs.Stats) uint64) {
		w.Begin(metrics.Family{Name: name, Kind: metrics.Counter, Unit: "bytes", Help: help})
		for _, s := range streams {
			w.Add(float64(value(s.stats)), s.labels...)
		}
	}
	written := func(s logs.Stats) uint64 { return s.Written }
	dropped := func(s logs.Stats) uint64 { return s.Dropped }
	family("toskose_program_log_bytes", "Bytes written to the log.", files, written)
	family("toskose_program_log_dropped_bytes", "Bytes that the log did not take, as on a full disk.", files, dropped)
	family("toskose_program_output_bytes", "Bytes of lines copied to the container's output.", copied, written)
	family("toskose_program_output_dropped_bytes", "Bytes of lines for which that had no room.", copied, dropped)
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// ownMemory is the unit's resident memory in bytes (proc_pid_statm(5)).
func ownMemory() (int64, bool) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(unix.Getpagesize()), err == nil
}
