package proctree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// The bits of /proc/PID/coredump_filter used as the mark of a component: shared huge pages, and
// private and shared DAX pages.
const (
	coreShift = 6
	coreMask  = 0b111 << coreShift
)

// coreValues are the values used as marks. Virtual machines set single bits for themselves.
var coreValues = [...]uint64{0b011 << coreShift, 0b101 << coreShift, 0b110 << coreShift}

// coreMark is the mark that survives su, runuser and sudo, which reset the limit and the
// environment. It has so few values that it marks components, each represented by one program.
type coreMark struct {
	fd  int   // this process's filter
	off error // why the mark is not available; nil if it is

	mu       sync.Mutex
	values   map[Program]int          // index of a component's value, by its representative
	programs [len(coreValues)]Program // representative by value; Unclaimed if unused or shared
	used     map[Program]coreSet      // values that processes of a program were forked with
}

// coreSet is a set of indexes of coreValues.
type coreSet [len(coreValues)]bool

// openCoreMark checks whether the mark can be used. If one of its bits is set initially, all
// processes of the container may have it.
func openCoreMark(proc procfs) *coreMark {
	m := &coreMark{fd: -1, values: map[Program]int{}, used: map[Program]coreSet{}}
	fd, err := unix.Open(proc.root+"/self/coredump_filter", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		m.off = fmt.Errorf("cannot mark processes by coredump_filter: %w", err)
		return m
	}
	m.fd = fd
	filter, err := m.read()
	if err == nil {
		err = m.write(filter)
	}
	if err != nil {
		_ = unix.Close(fd)
		m.off = fmt.Errorf("cannot mark processes by coredump_filter: %w", err)
	}
	return m
}

// read returns this process's filter. It fails if a bit of the mark is set.
func (m *coreMark) read() (uint64, error) {
	var buf [32]byte
	n, err := unix.Pread(m.fd, buf[:], 0)
	if err != nil {
		return 0, err
	}
	filter, ok := parseFilter(buf[:n])
	if !ok || filter&coreMask != 0 {
		return 0, fmt.Errorf("it is %q", strings.TrimSpace(string(buf[:n])))
	}
	return filter, nil
}

func (m *coreMark) write(filter uint64) error {
	_, err := unix.Pwrite(m.fd, []byte("0x"+strconv.FormatUint(filter, 16)), 0)
	return err
}

func parseFilter(text []byte) (filter uint64, ok bool) {
	filter, err := strconv.ParseUint(strings.TrimSpace(string(text)), 16, 64)
	return filter, err == nil
}

// set sets the mark of a program's component on this process and returns a function that removes
// it. If that fails, the process merely lacks this mark.
func (m *coreMark) set(program, component Program) (restore func()) {
	if m.off != nil || component == Unclaimed {
		return func() {}
	}
	old, err := m.read()
	if err != nil || m.write(old|m.value(program, component)) != nil {
		return func() {}
	}
	return func() { _ = m.write(old) } // it was writable a moment ago
}

// value returns the component's value. If there are more components than values they share them,
// and a shared value identifies nothing.
func (m *coreMark) value(program, component Program) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	place, ok := m.values[component]
	if !ok {
		place = len(m.values) % len(coreValues)
		if m.programs[place] = component; len(m.values) >= len(coreValues) {
			m.programs[place] = Unclaimed
		}
		m.values[component] = place
	}
	given := m.used[program]
	given[place] = true
	m.used[program] = given
	return coreValues[place]
}

// byCore returns the representative of the component that a process's filter identifies.
func (t *Tree) byCore(pid int) Program {
	place := t.coreOf(pid)
	if place < 0 {
		return Unclaimed
	}
	t.core.mu.Lock()
	defer t.core.mu.Unlock()
	return t.core.programs[place]
}

// contradictsCoreMark reports whether a process's filter differs from all that the program's
// processes were forked with. Its limit, which names that program, is then a copy: PAM gives a
// process whose user it changes the current limits of process 1, which are a mark during a fork.
func (t *Tree) contradictsCoreMark(pid int, program Program) bool {
	place := t.coreOf(pid)
	if place < 0 {
		return false
	}
	t.core.mu.Lock()
	defer t.core.mu.Unlock()
	return !t.core.used[program][place]
}

// coreOf returns the index of the value in a process's filter, or -1 if there is none, as for a
// zombie.
func (t *Tree) coreOf(pid int) (place int) {
	if t.core.off != nil {
		return -1
	}
	text, err := t.proc.read(pid, "coredump_filter", make([]byte, 32))
	if err != nil {
		return -1
	}
	filter, _ := parseFilter(text)
	return slices.Index(coreValues[:], filter&coreMask)
}
