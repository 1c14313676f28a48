package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

const (
	ticksPerSecond = 100     // USER_HZ, the same on all of Linux's architectures
	kernelThread   = 1 << 21 // PF_KTHREAD of include/linux/sched.h

	environMax = 1 << 20 // how much of an environment is searched for a mark
	commandMax = 1024    // bytes of a command line to show
)

// procfs reads proc(5).
type procfs struct{ root string }

// stat is the content of /proc/PID/stat.
type stat struct {
	pid, ppid, pgid, sid int
	state                byte
	flags                uint64
	cpu                  uint64 // ticks
	waited               uint64 // ticks of children that it waited for
	threads              int
	start                uint64 // ticks since boot
	rss                  int64  // pages
	comm                 string // at most 15 bytes of anything
}

// ended reports whether all threads of the process have ended. The main thread may end first, which
// makes a zombie that is still alive.
func (s *stat) ended() bool {
	return s.state == 'X' || (s.state == 'Z' && s.threads <= 1)
}

// ofKernel reports whether it is a kernel thread.
func (s *stat) ofKernel() bool { return s.flags&kernelThread != 0 }

// suspended reports whether a signal has stopped the process.
func (s *stat) suspended() bool { return s.state == 'T' }

// pids lists all processes.
func (p procfs) pids() ([]int, error) { return numbers(p.root) }

// numbers lists the numeric names in a folder.
func numbers(folder string) ([]int, error) {
	dir, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	found := make([]int, 0, len(names))
	for _, name := range names {
		if number, err := strconv.Atoi(name); err == nil && number > 0 {
			found = append(found, number)
		}
	}
	return found, nil
}

// readNumbers reads a file of space-separated numbers and appends them.
func readNumbers(path string, to []int) ([]int, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return to, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	number := 0
	for {
		var buf [4096]byte // the most that the kernel gives at a time
		n, err := retry(func() (int, error) { return unix.Read(fd, buf[:]) })
		if err != nil {
			return to, fmt.Errorf("read %s: %w", path, err)
		}
		for _, c := range buf[:n] {
			switch {
			case '0' <= c && c <= '9':
				number = 10*number + int(c-'0')
			case number > 0:
				to, number = append(to, number), 0
			}
		}
		if n == 0 {
			return to, nil
		}
	}
}

func (p procfs) stat(pid int) (stat, error) {
	var buf [1024]byte
	text, err := p.read(pid, "stat", buf[:])
	if err != nil {
		return stat{}, err
	}
	return parseStat(text)
}

var errStat = errors.New("does not read as proc(5) says")

// parseStat reads the line of /proc/PID/stat. The name in it may hold spaces,
// parentheses and newlines; after the last parenthesis only numbers come.
func parseStat(text []byte) (stat, error) {
	open, shut := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || shut < open {
		return stat{}, errStat
	}
	var s stat
	var err error
	if s.pid, err = strconv.Atoi(string(bytes.TrimSpace(text[:open]))); err != nil {
		return stat{}, errStat
	}
	s.comm = string(text[open+1 : shut])
	// Every look parses this for every process, so it avoids allocations.
	var fields [statFields]int64
	rest := bytes.TrimLeft(text[shut+1:], " ")
	if len(rest) < 2 || rest[1] != ' ' {
		return stat{}, errStat
	}
	s.state = rest[0]
	rest = rest[1:]
	for i := range fields {
		if i < statFirst {
			continue
		}
		rest = bytes.TrimLeft(rest, " ")
		end := bytes.IndexByte(rest, ' ')
		if end < 0 {
			end = len(rest)
		}
		number, err := strconv.ParseInt(string(bytes.TrimSpace(rest[:end])), 10, 64)
		if err != nil {
			return stat{}, errStat
		}
		fields[i] = number
		rest = rest[end:]
	}
	s.ppid, s.pgid, s.sid = int(fields[4]), int(fields[5]), int(fields[6])
	s.flags = uint64(fields[9])
	s.cpu = uint64(fields[14] + fields[15])
	s.waited = uint64(fields[16] + fields[17])
	s.threads = int(fields[20])
	s.start = uint64(fields[22])
	s.rss = fields[24]
	return s, nil
}

// The fields of /proc/PID/stat that are read as numbers, as proc(5) counts them.
const (
	statFirst  = 4
	statFields = 25 // one more than the last
)

func (p procfs) limits(pid int) ([]byte, error) {
	return p.read(pid, "limits", make([]byte, 4096))
}

// command returns the command line, or the name in brackets if there is none.
func (p procfs) command(s *stat) string {
	text, err := p.read(s.pid, "cmdline", make([]byte, commandMax))
	if err != nil || len(bytes.Trim(text, "\x00")) == 0 {
		return "[" + printable([]byte(s.comm)) + "]"
	}
	text = bytes.TrimRight(text, "\x00")
	return printable(bytes.ReplaceAll(text, []byte{0}, []byte{' '}))
}

// lastPID returns the pid that was allocated last: if it is unchanged, nothing was forked. ok is
// false if the kernel does not show it.
func (p procfs) lastPID() (pid int, ok bool) {
	var buf [128]byte
	text, err := readFile(p.root+"/loadavg", buf[:], true)
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(text))
	if len(fields) != 5 {
		return 0, false
	}
	pid, err = strconv.Atoi(fields[4])
	return pid, err == nil
}

// read reads a file of a process, up to the size of the buffer. If the process is
// gone, the error is fs.ErrNotExist.
func (p procfs) read(pid int, name string, buf []byte) ([]byte, error) {
	// The kernel returns stat and limits in one piece; reading on to the end
	// would cost a system call per process and gain nothing.
	whole := name == "stat" || name == "limits"
	return readFile(p.root+"/"+strconv.Itoa(pid)+"/"+name, buf, whole)
}

// readFile is read for any file. (os.ReadFile would register each of these
// thousands of files with the poller.)
func readFile(path string, buf []byte, whole bool) ([]byte, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	total := 0
	for total < len(buf) {
		n, err := unix.Read(fd, buf[total:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.ESRCH) {
			err = fs.ErrNotExist // ended between open and read
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if n == 0 {
			break
		}
		total += n
		if whole {
			break
		}
	}
	return buf[:total], nil
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// printable converts any bytes to one line of valid text.
func printable(text []byte) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune('?')
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case !unicode.IsPrint(r):
			b.WriteRune('?')
		default:
			b.WriteRune(r)
		}
		text = text[size:]
	}
	return b.String()
}

// now returns the time since the machine booted, in the unit of start times.
func now() (ticks uint64, ok bool) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, false
	}
	return uint64(ts.Nano()) / uint64(time.Second/ticksPerSecond), true
}

// environ reads the initial environment of a process.
func (p procfs) environ(pid int) ([]byte, error) {
	buf := make([]byte, 8<<10)
	for {
		text, err := p.read(pid, "environ", buf)
		if err != nil || len(text) < len(buf) || len(buf) >= environMax {
			return text, err
		}
		buf = make([]byte, 4*len(buf))
	}
}
