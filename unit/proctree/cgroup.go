package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// cgroups are the cgroups (v2) of components, where this process may make some. A process
// cannot leave its cgroup without privileges, so a cgroup outweighs all marks.
type cgroups struct {
	off    error  // why there are none; nil: there are
	folder string // that they are in
	prefix string // what begins their paths in /proc/PID/cgroup

	mu     sync.Mutex
	opened map[string]*os.File // by the component's name, for its forks
	number []*component        // whose they are, by the number that is their name
}

// ErrNoCgroup is in the chain of why components have no cgroups.
var ErrNoCgroup = errors.New("components have no cgroups of their own")

const cgroupFolder = "toskose-"

// openCgroups makes the folder of the components' cgroups below the cgroup of this
// process, as found where cgroup v2 is mounted.
func (t *Tree) openCgroups(mounted string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(mounted, &st); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNoCgroup, mounted, err)
	}
	if st.Type != unix.CGROUP2_SUPER_MAGIC {
		return fmt.Errorf("%w: %s is not a cgroup v2", ErrNoCgroup, mounted)
	}
	own, ok := t.proc.cgroup(t.self)
	if !ok {
		return fmt.Errorf("%w: this process is in no cgroup v2", ErrNoCgroup)
	}
	within := path.Join(mounted, own)
	removeCgroups(within)
	name := cgroupFolder + strconv.FormatUint(uint64(t.boot), 16)
	t.cgroups.folder, t.cgroups.prefix = path.Join(within, name), path.Join(own, name)+"/"
	if err := os.Mkdir(t.cgroups.folder, 0o755); err != nil { //nolint:gosec // nobody but root can write a cgroup
		return fmt.Errorf("%w: %w", ErrNoCgroup, err)
	}
	t.cgroups.opened = map[string]*os.File{}
	return nil
}

// removeCgroups removes the cgroups that an earlier run has left, if nothing is in them.
func removeCgroups(within string) {
	entries, _ := os.ReadDir(within)
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), cgroupFolder) {
			continue
		}
		folder := path.Join(within, e.Name())
		inner, _ := os.ReadDir(folder)
		for _, i := range inner {
			if i.IsDir() {
				_ = os.Remove(path.Join(folder, i.Name()))
			}
		}
		_ = os.Remove(folder)
	}
}

// Cgroup returns a descriptor of the cgroup for the processes of a described component. It
// makes the cgroup if necessary, and returns 0 if it cannot.
func (t *Tree) Cgroup(name string) int {
	t.components.mu.Lock()
	one := t.components.byName[name]
	t.components.mu.Unlock()
	c := &t.cgroups
	if c.off != nil || one == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if has := c.opened[name]; has != nil {
		return int(has.Fd())
	}
	folder := path.Join(c.folder, strconv.Itoa(len(c.number)))
	if os.Mkdir(folder, 0o755) != nil { //nolint:gosec // as above
		return 0 // there may be no more: its processes have marks
	}
	file, err := os.Open(folder)
	if err != nil {
		return 0
	}
	c.opened[name], c.number = file, append(c.number, one)
	return int(file.Fd())
}

// byCgroup returns the program of a process with the mark of a program by the cgroup
// that it is in: the same if that is its component's, otherwise the one that represents the
// cgroup's component. ok is false if it is in none.
func (t *Tree) byCgroup(pid int, marked Program) (program Program, ok bool) {
	if t.cgroups.off != nil {
		return Unclaimed, false
	}
	own, ok := t.proc.cgroup(pid)
	if !ok {
		return Unclaimed, false
	}
	name, ok := strings.CutPrefix(own, t.cgroups.prefix)
	if !ok {
		return Unclaimed, false
	}
	name, _, _ = strings.Cut(name, "/") // it may have made some in its own
	number, err := strconv.Atoi(name)
	t.cgroups.mu.Lock()
	defer t.cgroups.mu.Unlock()
	if err != nil || number < 0 || number >= len(t.cgroups.number) {
		return Unclaimed, false
	}
	one := t.cgroups.number[number]
	t.components.mu.Lock()
	defer t.components.mu.Unlock()
	if marked != Unclaimed && t.components.byProgram[marked] == one {
		return marked, true
	}
	return one.program, true
}

// cgroup returns the path of a process's cgroup (v2).
func (p procfs) cgroup(pid int) (path string, ok bool) {
	text, err := p.read(pid, "cgroup", make([]byte, unix.PathMax))
	if err != nil {
		return "", false
	}
	for line := range bytes.Lines(text) {
		if own, ok := bytes.CutPrefix(line, []byte("0::")); ok {
			return string(bytes.TrimSpace(own)), true
		}
	}
	return "", false
}
