package proctree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// The bits of /proc/PID/coredump_filter that are the mark of a component:
// whether core dumps have shared huge pages, and private and shared DAX pages.
const (
	coreShift = 6
	coreMask  = 0b111 << coreShift
)

// coreValues are the values of these bits that are marks. Virtual machines set
// single ones for themselves.
var coreValues = [...]uint64{0b011 << coreShift, 0b101 << coreShift, 0b110 << coreShift}

// coreMark is the mark that survives what resets the limit and the environment:
// su, runuser, sudo. There are so few values of it that it marks components, of
// which each is represented by one program.
type coreMark struct {
	fd  int   // of this process's filter
	off error // why there is no such mark; nil: there is

	mu       sync.Mutex
	values   map[Program]int          // by the program that represents a component, the place of its value
	programs [len(coreValues)]Program // by value; Unclaimed: of nobody, or of several
	given    map[Program]coreSet      // the values that processes of a program were forked with
}

// coreSet is a set of values, by their places.
type coreSet [len(coreValues)]bool

// openCoreMark finds out whether the mark can be used: where one of its bits is
// set to begin with, all processes of the container may have it.
func openCoreMark(proc procfs) *coreMark {
	m := &coreMark{fd: -1, values: map[Program]int{}, given: map[Program]coreSet{}}
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

// read returns this process's filter, without error only where no bit of the
// mark is set.
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

// set puts the mark of a program's component, which the other program represents,
// on this process, and returns what takes it off. Without the mark nothing but the
// mark is lost.
func (m *coreMark) set(program, component Program) (restore func()) {
	if m.off != nil || component == Unclaimed {
		return func() {}
	}
	old, err := m.read()
	if err != nil || m.write(old|m.value(program, component)) != nil {
		return func() {}
	}
	return func() { _ = m.write(old) } // it could be written a moment ago
}

// value returns the component's value. More components than there are values
// share them by turns, and a value that is shared claims nothing any more.
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
	given := m.given[program]
	given[place] = true
	m.given[program] = given
	return coreValues[place]
}

// byCore returns the program that represents the component that a process's
// filter names.
func (t *Tree) byCore(pid int) Program {
	place := t.coreOf(pid)
	if place < 0 {
		return Unclaimed
	}
	t.core.mu.Lock()
	defer t.core.mu.Unlock()
	return t.core.programs[place]
}

// deniesCore reports whether a process's filter is none that processes of the
// program were forked with. Its limit, which says that it is of the program, is a
// copy then: PAM gives those whose user it changes the limits that process 1 has at
// that moment, and while it forks these are a mark.
func (t *Tree) deniesCore(pid int, program Program) bool {
	place := t.coreOf(pid)
	if place < 0 {
		return false
	}
	t.core.mu.Lock()
	defer t.core.mu.Unlock()
	return !t.core.given[program][place]
}

// coreOf returns the place of the value in a process's filter; -1: there is none,
// as in a zombie's.
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
