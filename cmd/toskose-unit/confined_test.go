package main_test

import (
	"bytes"
	"context"
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

	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/unit/wire"
)

// What the unit of a test is confined to before it becomes PID 1.
const (
	rootEnv = "TOSKOSE_TEST_ROOT" // a folder that is all there is, and read-only
	userEnv = "TOSKOSE_TEST_USER" // a number
	nobody  = 65534
)

// confine gives up the file system and the rights that a test asks to.
func confine() error {
	if root := os.Getenv(rootEnv); root != "" {
		for i, arg := range os.Args {
			os.Args[i] = strings.TrimPrefix(arg, root)
		}
		for _, step := range []func() error{
			func() error { return syscall.Mount(root, root, "", syscall.MS_BIND, "") },
			func() error { return syscall.Mount("proc", filepath.Join(root, "proc"), "proc", 0, "") },
			func() error {
				return syscall.Mount("", root, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, "")
			},
			func() error { return syscall.Chroot(root) },
			func() error { return os.Chdir("/") },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		if err := os.WriteFile("/written", nil, 0o600); !errors.Is(err, syscall.EROFS) {
			return fmt.Errorf("the root is not read-only: %w", err)
		}
	}
	if user := os.Getenv(userEnv); user != "" {
		number, err := strconv.Atoi(user)
		if err != nil {
			return err
		}
		return errors.Join(syscall.Setgroups(nil), syscall.Setgid(number), syscall.Setuid(number))
	}
	return nil
}

// asNobody makes the unit of a container run without any right.
func (c *container) asNobody() *container {
	c.t.Helper()
	if os.Geteuid() != 0 {
		c.t.Skip("only root can become another user")
	}
	for _, dir := range []string{filepath.Dir(c.dir), filepath.Dir(unitBinary)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := os.Chown(c.dir, nobody, nobody); err != nil {
		c.t.Fatal(err)
	}
	c.adapt = func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, userEnv+"="+strconv.Itoa(nobody)) }
	return c
}

func TestTheUnitWorksAsAnyUser(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{
		"create": "id -u; umask", "start": `setsid sh -c "sleep 1000 & echo up > up; exec sleep 1000" & echo $! > pid`, "stop": "kill $(cat pid)",
	}, "stopwaitsecs=2")).asNobody().boot()
	if made := c.run("api", "create"); made.Stdout != "65534\n0022\n" {
		t.Errorf("create printed %q", made.Stdout)
	}
	outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)
	c.until("up", "up")
	if api := c.wants("api", "running"); len(api.Processes) != 2 {
		t.Errorf("processes: %+v", api.Processes)
	}
	outcome(t, c.run("api", "stop"), wire.OutcomeSucceeded)
	c.wants("api", "configured")
	c.isEmpty()
	c.terminate()
}

func TestAnOperationRunsAsAUserOfOneGroup(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	c := newContainer(t, component("api", map[string]string{"create": "id -u; id -G"}, "user=65534:7"))
	for _, dir := range []string{filepath.Dir(c.dir), c.dir} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.boot()
	if made := c.run("api", "create"); made.Stdout != "65534\n7\n" {
		t.Errorf("create printed %q: %+v", made.Stdout, made)
	}
	c.terminate()
}

func TestAUserThatTheUnitMayNotBecomeIsNamed(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"create": "id -u"}, "user=0:7")).asNobody().boot()
	made := c.run("api", "create")
	outcome(t, made, wire.OutcomeFailed)
	if !strings.Contains(made.Reason, "cannot become user 0 of group 7: the unit runs as user 65534, without the right to") {
		t.Errorf("the reason is %q", made.Reason)
	}
	c.terminate()
}

func TestAStopNamesWhatTheUnitMayNotSignal(t *testing.T) {
	t.Parallel()
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("setpriv is not installed (Debian package util-linux)")
	}
	const become = "DIR/become --reuid=0 --regid=0 --clear-groups "
	c := newContainer(t, plain("root", become+"sleep 1000", "stopwaitsecs=1")+
		plain("leaves", `/bin/sh -c '`+become+`sleep 1000 & echo up > up; exec sleep 1000'`, "stopwaitsecs=1")).asNobody()
	data, err := os.ReadFile(setpriv)
	if err != nil {
		t.Fatal(err)
	}
	c.write("become", string(data))
	if err := os.Chmod(filepath.Join(c.dir, "become"), 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	c.boot()
	for _, name := range []string{"root", "leaves"} {
		if err := c.call(nil, "supervisor.startProcess", name); err != nil {
			t.Fatal(err)
		}
	}
	c.until("up", "up")
	c.untilRoot(2)
	for _, name := range []string{"root", "leaves"} {
		err := c.call(nil, "supervisor.stopProcess", name)
		fault(t, err, wire.Failed)
		if err == nil || !strings.Contains(err.Error(), "may not signal") || !strings.Contains(err.Error(), "[sleep]") {
			t.Errorf("%s: %v", name, err)
		}
		if info := c.info(name); info.State != wire.Stopping {
			t.Errorf("%s is %s", name, info.StateName)
		}
	}
}

// untilRoot waits until as many processes of the container are root's.
func (c *container) untilRoot(want int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for count := 0; count != want; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			c.t.Fatal("the processes never became root's")
		}
		count = 0
		for _, p := range c.snapshot().Unclaimed {
			if strings.HasPrefix(p.Command, "sleep ") && c.owner(p.PID) == 0 {
				count++
			}
		}
	}
}

// owner returns the user of a process by its number in the container.
func (c *container) owner(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/proc/%d/status", c.cmd.Process.Pid, pid))
	if err != nil {
		return -1
	}
	_, after, _ := bytes.Cut(status, []byte("\nUid:\t"))
	text, _, _ := bytes.Cut(after, []byte("\t"))
	uid, err := strconv.Atoi(string(text))
	if err != nil {
		return -1
	}
	return uid
}

// scratch lays out a container that has the unit and its configuration, and
// nothing else: no shell, no libc, no /etc, no /dev, no /tmp. What runs in it
// is the unit itself, which is checked by its own health command.
func scratch(t *testing.T) *container {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	unit, err := os.ReadFile(testunit.Shipped(t))
	if err != nil {
		t.Fatal(err)
	}
	c := newContainer(t, "")
	c.write("toskose-unit", string(unit))
	c.write("inner.conf", fmt.Sprintf("[supervisord]\nlogfile=NONE\n[inet_http_server]\nport=127.0.0.1:%d\n", freeport.Find(t)))
	c.write("supervisord.conf", fmt.Sprintf(`[supervisord]
nodaemon=true
[inet_http_server]
port=127.0.0.1:%d
username=admin
toskose_auth=required
[program:inner]
command=/toskose-unit -c /inner.conf
startsecs=0
autostart=false
stdout_logfile=NONE
toskose_ready_command=/toskose-unit health -c /inner.conf
toskose_ready_interval=0.02
[program:version]
command=toskose-unit --version
environment=PATH="/"
startsecs=0
autostart=false
autorestart=false
stdout_logfile=/dev/stdout
stdout_logfile_maxbytes=0
`, c.port))
	if err := os.Mkdir(filepath.Join(c.dir, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheUnitNeedsNoShellNoLibcAndNoFileOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, user := range map[string]int{"as root": 0, "as nobody": nobody} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := scratch(t)
			var stdout bytes.Buffer
			c.adapt = func(cmd *exec.Cmd) {
				cmd.Stdout = &stdout
				cmd.Env = append(cmd.Env, initEnv+"=/toskose-unit", rootEnv+"="+c.dir, userEnv+"="+strconv.Itoa(user))
			}
			c.boot()
			for _, program := range []string{"inner", "version"} {
				if err := c.call(nil, "supervisor.startProcess", program); err != nil {
					t.Errorf("%s: %v", program, err)
				}
			}
			if info := c.info("inner"); info.State != wire.Running || c.owner(info.PID) != user {
				t.Errorf("it is %s, of user %d", info.StateName, c.owner(info.PID))
			}
			if info := c.untilState("version", wire.Exited); info.ExitStatus != 0 {
				t.Errorf("%+v", info)
			}
			if err := c.call(nil, "supervisor.stopProcess", "inner"); err != nil {
				t.Error(err)
			}
			c.isEmpty()
			c.terminate()
			if stdout.String() != "dev\n" {
				t.Errorf("the container's output is %q", &stdout)
			}
		})
	}
}
