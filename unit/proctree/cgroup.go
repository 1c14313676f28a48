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

// cgroups holds a cgroup (v2) per component, if this process may create them. A process cannot
// leave its cgroup without privileges, so a cgroup takes precedence over all marks.
type cgroups struct {
	off    error  // why there are none; nil if they can be used
	folder string // their parent folder
	prefix string // their path prefix in /proc/PID/cgroup

	mu     sync.Mutex
	opened map[string]*os.File // open descriptors by component name, for forks
	number []*component        // components by number, which is the cgroup's name
}

// ErrNoCgroup is in the error chain when components have no cgroups.
var ErrNoCgroup = errors.New("components have no cgroups of their own")

const cgroupFolder = "toskose-"

// openCgroups creates the parent folder of the components' cgroups below the cgroup of this
// process. mounted is the mount point of cgroup v2.
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

// removeCgroups removes the empty cgroups of an earlier run.
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
		return 0 // a limit may be reached: its processes still have marks
	}
	file, err := os.Open(folder)
	if err != nil {
		return 0
	}
	c.opened[name], c.number = file, append(c.number, one)
	return int(file.Fd())
}

// byCgroup returns the program of a process by its cgroup, given the program of its mark: the same
// one if it belongs to the cgroup's component, otherwise that component's representative. ok is
// false if the process is in none of our cgroups.
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
	name, _, _ = strings.Cut(name, "/") // the component may have created sub-cgroups
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
