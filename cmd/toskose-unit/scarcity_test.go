package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/wire"
)

// What becomeInit does to the world before it becomes the unit.
const (
	diskEnv  = "TOSKOSE_TEST_DISK"  // a folder, which becomes a file system of 256 KiB
	filesEnv = "TOSKOSE_TEST_FILES" // how many files may be open
)

func hardships() error {
	if dir := os.Getenv(diskEnv); dir != "" {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
			return fmt.Errorf("cannot mount a small disk: %w", err)
		}
	}
	if most := os.Getenv(filesEnv); most != "" {
		n, err := strconv.ParseUint(most, 10, 32)
		if err != nil {
			return err
		}
		return unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n}, nil)
	}
	return nil
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("it needs a namespace of its own (run as root, with CAP_SYS_ADMIN)")
	}
}

func TestAFullDiskRefusesOperationsAndLosesNoExit(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	c := newContainer(t, component("api", map[string]string{
		"create": `echo up > up; while [ ! -e go ]; do echo chatter; sleep 0.01; done; exit 0`,
	}, "stdout_logfile=DIR/small/create.log")+free("one")+free("two")+free("three")+
		manual("chatty", `while :; do n=$((n+1)); echo line $n; printf '%%0300d\n' 0; echo $n > count; sleep 0.01; done`, "stdout_logfile=DIR/small/chatty.log"))
	c.write("supervisord.conf", strings.ReplaceAll(c.read("supervisord.conf"), c.dir+"/journal", c.dir+"/small/journal"))
	small := filepath.Join(c.dir, "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	c.env = []string{diskEnv + "=" + small}
	c.boot()
	inside := fmt.Sprintf("/proc/%d/root%s", c.cmd.Process.Pid, small)
	c.must("supervisor.startProcess", "chatty")
	x, err := c.execute("api", "create", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.until("up", "up")

	fill(t, filepath.Join(inside, "fill"))
	// Half of what the journal has reserved is for ends.
	c.eventually("operations are refused", func() bool {
		for _, name := range []string{"one", "two", "three"} {
			if _, err := c.execute(name, "create", nil); err != nil && strings.Contains(err.Error(), wire.JournalUnavailable.String()) {
				return true
			}
		}
		return false
	})
	c.write("go", "")
	count := func() int {
		n, _ := strconv.Atoi(strings.TrimSpace(c.read("count")))
		return n
	}
	c.eventually("a log has no room left in its last page", func() bool {
		return c.sample("toskose_program_log_dropped_bytes_total", "component", "chatty", "stream", "stdout") > 0
	})
	from := count()
	c.eventually("a program whose log is full goes on", func() bool { return count() > from+20 })
	// Room for its end was reserved.
	outcome(t, c.end(x.ID), wire.OutcomeSucceeded)

	if err := os.Remove(filepath.Join(inside, "fill")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two", "three"} {
		c.eventually(name+" is not executing", func() bool {
			_, err = c.execute(name, "create", nil)
			return err == nil
		})
	}
	resumed := "line " + strconv.Itoa(count()+5) + "\n"
	c.eventually("the log goes on", func() bool {
		text, _ := os.ReadFile(filepath.Join(inside, "chatty.log"))
		return strings.Contains(string(text), resumed)
	})
	c.eventually("who reads the log is told that some of it is missing", func() bool {
		for read, at := "first", ""; read != ""; {
			var gap bool
			if read, at, gap = c.page("/log/chatty/stdout", at, ""); gap {
				return true
			}
		}
		return false
	})
	// What is on the disk is whole: the unit begins again from it.
	c.must("supervisor.restart")
	c.eventually("it is booted again", func() bool { return strings.Count(c.read("unit.log"), "toskose-unit started") == 2 })
	c.boots(2)
	c.wants("api", "created")
	c.must("supervisor.startProcess", "chatty") // answered once the unit supervises and hears TERM
	c.noZombies()
	c.terminate()
}

// free is a component without a protocol, whose create is always allowed.
func free(name string) string {
	sections := component(name, map[string]string{"create": "exit 0"}, "")
	return sections[strings.Index(sections, "[program:"):]
}

// boots waits for the entry of that boot.
func (c *container) boots(want int) {
	c.t.Helper()
	seen := 0
	last := uint64(0)
	c.journal(func(e wire.Entry) bool {
		if e.Kind == wire.EntryBoot && e.Seq > last {
			seen, last = seen+1, e.Seq
		}
		return seen == want
	})
}

// fill writes a file until the disk is full to the last byte.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 4096); ; {
		if _, err = file.Write(block); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

func TestWithoutDescriptorsStartsAreRefusedAndNothingElse(t *testing.T) {
	t.Parallel()
	c := newContainer(t, manual("daemon", `setsid sleep 1000 & exec sleep 1000`, "priority=1", "stopwaitsecs=600")+
		manual("many", "exec sleep 1000", "numprocs=60", "process_name=%(process_num)d", "stopwaitsecs=600"))
	c.env = []string{filesEnv + "=100"}
	c.boot()
	c.must("supervisor.startProcess", "daemon")
	for range 2 {
		var statuses []wire.ProcessStatus
		if err := c.call(&statuses, "supervisor.startAllProcesses", true); err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, s := range statuses {
			if s.Status != wire.Success {
				refused++
			}
		}
		if refused == 0 || refused == len(statuses) {
			t.Errorf("of %d starts %d were refused", len(statuses), refused)
		}
		// The unit refuses them itself, while it has enough left to stop what runs.
		for _, info := range c.all() {
			refused := info.State == wire.Fatal || info.State == wire.Backoff
			if refused && !strings.Contains(info.SpawnErr, "too many open files: ") {
				t.Errorf("the refusal says %q: %+v", info.SpawnErr, info)
			}
		}
		c.must("supervisor.stopProcess", "daemon")
		c.must("supervisor.stopProcessGroup", "many", true)
		if left := c.living(); len(left) != 0 {
			t.Errorf("these are left: %v", left)
		}
		c.noZombies()
		c.must("supervisor.startProcess", "daemon")
	}
	c.terminate()
}

func TestAnotherClockChangesNothing(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	// The clocks that only run forward begin ten years ahead in this namespace.
	const decade = "315360000"
	prefix := []string{"unshare", "--time", "--monotonic", decade, "--boottime", decade}
	if out, err := exec.Command(prefix[0], append(prefix[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no time namespace can be made here: %v: %s", err, out)
	}
	c := newContainer(t, component("api", map[string]string{"start": "exec sleep 1000"}, "startsecs=1")+
		manual("deaf", `setsid sleep 1000 & trap "" TERM; echo up > up; while :; do sleep 0.02; done`, "startsecs=1", "stopwaitsecs=1"))
	c.prefix = prefix
	c.boot()
	if uptime := readUptime(t, c.cmd.Process.Pid); uptime < 315360000 {
		t.Skipf("the unit is not in the time namespace: uptime %d s", uptime)
	}
	outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)
	if api := c.wants("api", "running"); len(api.Processes) != 1 {
		t.Errorf("processes of api: %+v", api.Processes)
	}
	c.must("supervisor.startProcess", "deaf")
	c.until("up", "up")
	c.must("supervisor.stopProcess", "deaf")
	if info := c.info("deaf"); info.State != wire.Stopped || time.Since(time.Unix(info.Stop, 0)).Abs() > time.Minute {
		t.Errorf("deaf: %+v", info)
	}
	c.terminate()
}

// readUptime reads the seconds since the machine booted as a process sees them.
func readUptime(t *testing.T, pid int) int {
	t.Helper()
	out, err := exec.Command("nsenter", "-t", strconv.Itoa(pid), "-T", "cat", "/proc/uptime").Output()
	if err != nil {
		t.Skipf("cannot enter a time namespace: %v", err)
	}
	seconds, _, _ := strings.Cut(string(out), ".")
	n, err := strconv.Atoi(seconds)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAnIdleUnitUsesNoProcessorTime(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"start": daemon}, "")+
		manual("plain", "exec sleep 1000")).boot()
	outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)
	c.must("supervisor.startProcess", "plain")
	// Go's own clean-up after the start may still be under way, and the client
	// of this test still be connected: one quiet window is enough, since who
	// polls has none.
	const window, tries = 2 * time.Second, 20
	var ticks, switches int
	for range tries {
		ticksBefore, switchesBefore := c.activity()
		time.Sleep(window)
		ticksAfter, switchesAfter := c.activity()
		ticks, switches = ticksAfter-ticksBefore, switchesAfter-switchesBefore
		if ticks == 0 && switches == 0 {
			return
		}
	}
	t.Errorf("in each of %d windows of %s the unit did something: in the last it used %d ticks and was woken %d times", tries, window, ticks, switches)
}

// activity is the processor time that the unit has used, in ticks, and how
// often its threads have gone to sleep.
func (c *container) activity() (ticks, switches int) {
	c.t.Helper()
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", c.cmd.Process.Pid))
	for _, task := range tasks {
		stat, err := os.ReadFile(task + "/stat")
		if err != nil {
			continue // the thread has ended
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		ticks += user + system
		status, _ := os.ReadFile(task + "/status")
		for line := range strings.Lines(string(status)) {
			if count, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				n, _ := strconv.Atoi(strings.TrimSpace(count))
				switches += n
			}
		}
	}
	if len(tasks) == 0 {
		c.t.Fatal("the unit has no threads")
	}
	return ticks, switches
}
