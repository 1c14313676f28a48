package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/freeport"
)

// side is the unit or the real supervisord, at a path where it is called as
// supervisord, with a folder of its own.
type side struct {
	t      *testing.T
	dir    string // the working directory
	path   string
	env    []string // besides the test's own
	cmd    *exec.Cmd
	out    bytes.Buffer
	stdout io.Writer // nil: out
	bare   bool      // Debian's own configuration is hidden from it
}

// beside runs a test with the real supervisord, with the unit, and with the unit that joins an
// application by its environment: the expectations hold for all three.
func beside(t *testing.T, test func(t *testing.T, s *side)) {
	t.Helper()
	real, err := exec.LookPath("supervisord")
	if err != nil {
		t.Skip("supervisord is not installed (Debian package supervisor)")
	}
	for name, path := range map[string]string{"supervisord": real, "unit": unitBinary, "joined": unitBinary} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &side{t: t, dir: openFolder(t)}
			if name == "joined" {
				s.env = joinEnv(t, freeport.Find(t))
			}
			bin := filepath.Join(s.dir, "prefix", "bin")
			if err := os.MkdirAll(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			s.path = filepath.Join(bin, "supervisord")
			if err := os.Symlink(path, s.path); err != nil {
				t.Fatal(err)
			}
			test(t, s)
		})
	}
}

// openFolder makes a folder that any user may use.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "supervisord") //nolint:usetesting // nobody else may enter those
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// write writes a file below the side's folder, which stands for DIR in it. It can
// be executed, as container.write says.
func (s *side) write(name, text string) {
	s.t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", s.dir)), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// start starts it with arguments in which DIR stands for its folder.
func (s *side) start(args ...string) {
	s.t.Helper()
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "DIR", s.dir)
	}
	s.cmd = exec.Command(s.path, args...)
	if _, err := os.Stat("/etc/supervisor"); err == nil && s.bare {
		if os.Geteuid() != 0 {
			s.t.Skip("only root can hide /etc/supervisor")
		}
		s.cmd = exec.Command("unshare", append([]string{"--mount", "sh", "-c", `mount -t tmpfs none /etc/supervisor && exec "$0" "$@"`, s.path}, args...)...)
	}
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, &s.out, &s.out
	if s.stdout != nil {
		s.cmd.Stdout = s.stdout
	}
	s.cmd.Env = append(os.Environ(), s.env...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd := s.cmd
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	s.t.Cleanup(func() {
		timer.Stop()
		if cmd.ProcessState == nil {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
	})
}

// stop ends it and returns its exit code.
func (s *side) stop() int {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	return s.wait()
}

func (s *side) wait() int {
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// await waits until a file, of its folder or anywhere, has a text in it, and
// returns all of it.
func (s *side) await(name, want string) string {
	s.t.Helper()
	text, path := "", name
	if !filepath.IsAbs(name) {
		path = filepath.Join(s.dir, name)
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		data, _ := os.ReadFile(path)
		if text = string(data); strings.Contains(text, want) && text != "" {
			return text
		}
	}
	s.t.Fatalf("%s never had %q; it has:\n%s\noutput:\n%s", name, want, text, s.out.String())
	return ""
}

func TestAReaderOfTheOutputThatPausesMissesNothing(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, s *side) {
		const lines, pause = 20_000, 2500 * time.Millisecond
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		s.write("supervisord.conf", fmt.Sprintf(`[supervisord]
nodaemon=true
[program:x]
command=/bin/sh -c 'i=0; while [ $i -lt %d ]; do echo "line $i %090d"; i=$((i+1)); done'
autorestart=false
startsecs=0
stdout_logfile=/dev/stdout
stdout_logfile_maxbytes=0
`, lines, 0))
		s.stdout = writer
		s.start("-c", "DIR/supervisord.conf")
		writer.Close()
		text := bufio.NewScanner(reader)
		for next := 0; next < lines && text.Scan(); {
			if next == lines/20 {
				time.Sleep(pause) // what is tested; everything is written meanwhile
			}
			line, ours := strings.CutPrefix(text.Text(), "line ")
			if !ours {
				continue // its own log
			}
			if !strings.HasPrefix(line, strconv.Itoa(next)+" 0") {
				t.Fatalf("line %d is %q", next, line)
			}
			next++
		}
		go func() { _, _ = io.Copy(io.Discard, reader) }()
		s.stop()
	})
}

func (s *side) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(s.dir, name))
	return err == nil
}

// marker is a program that writes to DIR/up who it is.
const marker = "[program:x]\ncommand=/bin/sh -c 'id -u > DIR/tmp; ulimit -Sn >> DIR/tmp; mv DIR/tmp DIR/up; exec sleep 1000'\n"

func TestWhatSupervisordBootsTheUnitBoots(t *testing.T) {
	t.Parallel()
	const quiet = "[supervisord]\nlogfile=DIR/log\npidfile=DIR/pid\nchildlogdir=DIR\n"
	for name, c := range map[string]struct {
		file  string // where the configuration is
		text  string
		args  string
		check func(t *testing.T, s *side)
	}{
		"combined flags":             {"x.conf", quiet + marker, "-nc DIR/x.conf", nil},
		"an attached file":           {"x.conf", quiet + marker, "-n -cDIR/x.conf", nil},
		"a shortened flag":           {"x.conf", quiet + marker, "--nodae --conf=DIR/x.conf", nil},
		"a relative file":            {"sub/x.conf", quiet + marker, "-n -c sub/x.conf", nil},
		"no file, in the folder":     {"supervisord.conf", quiet + marker, "-n", nil},
		"no file, in etc":            {"etc/supervisord.conf", quiet + marker, "-n", nil},
		"no file, above the program": {"prefix/etc/supervisord.conf", quiet + marker, "-n", nil},
		"startretries below 0":       {"x.conf", quiet + marker + "startretries=-1\n", "-n -c x.conf", nil},
		"the files by flags": {
			"x.conf", quiet + marker, "-n -c x.conf -l other.log -j other.pid -e debug -y 1MB -z 1 -i me -m 022 -q DIR -s -k -t -a 10 --minprocs 10 -d /",
			func(t *testing.T, s *side) {
				s.await("other.log", "x")
				s.await("other.pid", "\n")
				for _, name := range []string{"log", "pid"} {
					if s.exists(name) {
						t.Errorf("%s of the configuration is used", name)
					}
				}
			},
		},
		"the user by a flag": {
			"x.conf", quiet + marker, "-n -c x.conf -u nobody",
			func(t *testing.T, s *side) {
				if got := s.await("up", "\n"); !strings.HasPrefix(got, "65534\n") {
					t.Errorf("the program's user is %s", got)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(c.args, "-u ") && os.Geteuid() != 0 {
				t.Skip("becoming another user takes root")
			}
			beside(t, func(t *testing.T, s *side) {
				s.write(c.file, c.text)
				s.start(strings.Fields(c.args)...)
				s.await("up", "\n")
				if c.check != nil {
					c.check(t, s)
				}
				if code := s.stop(); code != 0 {
					t.Errorf("exit code %d\n%s", code, s.out.String())
				}
			})
		})
	}
}

func TestWhatSupervisordRefusesTheUnitRefuses(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"an unknown flag":     "-n -c x.conf -x",
		"an ambiguous flag":   "--no -c x.conf",
		"no value":            "-n -c",
		"a value for none":    "--nodaemon=1 -c x.conf",
		"a flag twice":        "-n -n -c x.conf",
		"an argument":         "-n -c x.conf x",
		"an unknown level":    "-n -c x.conf -e loud",
		"no number":           "-n -c x.conf -a many",
		"no user":             "-n -c x.conf -u no-such-user",
		"no file":             "-n -c nowhere.conf",
		"no file in its path": "-n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			beside(t, func(t *testing.T, s *side) {
				s.bare = args == "-n"
				s.write("x.conf", "[supervisord]\nlogfile=DIR/log\npidfile=DIR/pid\nchildlogdir=DIR\n"+marker)
				s.start(strings.Fields(args)...)
				if code := s.wait(); code != 2 || s.exists("up") {
					t.Errorf("exit code %d\n%s", code, s.out.String())
				}
			})
		})
	}
}

func TestWhatTheUnitLeavesAsSupervisordDoes(t *testing.T) {
	t.Parallel()
	asRoot := os.Geteuid() == 0
	const quiet = "[supervisord]\nlogfile=DIR/log\nchildlogdir=DIR\n"
	for name, c := range map[string]struct {
		root  bool
		text  string
		check func(t *testing.T, s *side) // while it runs
		after func(t *testing.T, s *side)
	}{
		"the default pidfile": {false, quiet + marker, func(t *testing.T, s *side) {
			if pid := s.await("supervisord.pid", "\n"); strings.TrimSpace(pid) != strconv.Itoa(s.cmd.Process.Pid) {
				t.Errorf("it has %q, the pid is %d", pid, s.cmd.Process.Pid)
			}
		}, func(t *testing.T, s *side) {
			if s.exists("supervisord.pid") {
				t.Error("the pidfile is left")
			}
		}},
		"directory": {false, quiet + "directory=/\n" + strings.Replace(marker, "id -u", "pwd", 1), func(t *testing.T, s *side) {
			if got := s.await("up", "\n"); !strings.HasPrefix(got, s.dir+"\n") {
				t.Errorf("a program begins in %s", got)
			}
		}, nil},
		"minfds": {false, quiet + "minfds=1500\n" + marker, func(t *testing.T, s *side) {
			if got := s.await("up", "\n"); !strings.HasSuffix(got, "\n1500\n") {
				t.Errorf("the user and the limit of a program: %s", got)
			}
		}, nil},
		"minfds below the limit": {false, quiet + "minfds=20\n" + marker, func(t *testing.T, s *side) {
			if got := s.await("up", "\n"); !strings.HasSuffix(got, "\n1200\n") {
				t.Errorf("the user and the limit of a program: %s", got)
			}
		}, nil},
		"minprocs": {false, quiet + "minprocs=700\n" + strings.Replace(marker, "ulimit -Sn", `bash -c "ulimit -Su"`, 1), func(t *testing.T, s *side) {
			if got := s.await("up", "\n"); !strings.HasSuffix(got, "\n700\n") {
				t.Errorf("the user and the limit of a program: %s", got)
			}
		}, nil},
		"the socket of another user": {true, quiet + "user=nobody\n[unix_http_server]\nfile=DIR/socket\n" + marker, func(t *testing.T, s *side) {
			info, err := os.Stat(filepath.Join(s.dir, "socket"))
			if err != nil {
				t.Fatal(err)
			}
			if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 65534 || info.Mode().Perm() != 0o700 {
				t.Errorf("the socket is of user %d, mode %s", stat.Uid, info.Mode())
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.root && !asRoot {
				t.Skip("becoming another user takes root")
			}
			beside(t, func(t *testing.T, s *side) {
				s.write("x.conf", c.text)
				// The limits that a container may have.
				real := s.path
				s.write("limited", "#!/bin/bash\nulimit -Sn 1200; ulimit -Su 600; exec "+real+" \"$@\"\n")
				s.path = filepath.Join(s.dir, "limited")
				s.start("-nc", "DIR/x.conf")
				s.await("up", "\n")
				c.check(t, s)
				if code := s.stop(); code != 0 {
					t.Errorf("exit code %d\n%s", code, s.out.String())
				}
				if c.after != nil {
					c.after(t, s)
				}
			})
		})
	}
}

// TestAPidfileOfSomebodyElseStays is where the unit is right: supervisord as root
// deletes the device.
func TestAPidfileOfSomebodyElseStays(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(path string) error{
		"a device":  func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"a symlink": func(path string) error { return os.Symlink("/dev/null", path) },
		"a file that another process has written since": func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &side{t: t, dir: openFolder(t), path: unitBinary}
			pidfile := filepath.Join(s.dir, "pid")
			if err := prepare(pidfile); err != nil {
				t.Fatal(err)
			}
			if name == "a device" {
				reader, err := os.OpenFile(pidfile, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer reader.Close()
			}
			s.write("x.conf", "[supervisord]\nlogfile=NONE\npidfile=DIR/pid\nchildlogdir=DIR\n"+marker)
			s.start("-nc", "DIR/x.conf")
			s.await("up", "\n")
			if name != "a device" && name != "a symlink" {
				s.write("pid", "1\n")
			}
			if code := s.stop(); code != 0 || !s.exists("pid") {
				t.Errorf("exit code %d, and the pidfile is gone", code)
			}
		})
	}
}

// outputs is a configuration whose programs show what becomes of output.
const outputs = `[supervisord]
logfile=DIR/log
pidfile=DIR/pid
childlogdir=DIR
loglevel=debug
strip_ansi=true
[eventlistener:ear]
command=python3 DIR/ear.py
events=PROCESS_COMMUNICATION
[program:captured]
command=/bin/sh -c 'printf "one <!--XSUPERVISOR:BEGIN-->for listeners<!--XSUPERVISOR:END-->two \033[31mthree\033[0m and what follows\n"; exec sleep 1000'
stdout_logfile=DIR/captured.out
stdout_capture_maxbytes=1MB
startsecs=0
[program:plain]
command=/bin/sh -c 'echo to syslog; echo twice; exec sleep 1000'
stdout_logfile=DIR/plain.out
stdout_syslog=true
startsecs=1
[program:failing]
command=/bin/sh -c 'exit 3'
startretries=0
[program:once]
command=/bin/sh -c 'exit 0'
startsecs=0
autorestart=false
`

// earScript is an event listener that keeps what it is sent.
const earScript = `import sys
while True:
    sys.stdout.write("READY\n"); sys.stdout.flush()
    header = dict(x.split(":") for x in sys.stdin.readline().split())
    body = sys.stdin.read(int(header["len"]))
    open("DIR/heard", "a").write(header["eventname"] + "\n" + body + "\n")
    sys.stdout.write("RESULT 2\nOK"); sys.stdout.flush()
`

func TestOutputGoesWhereSupervisordSendsIt(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a /dev/log of its own takes root")
	}
	beside(t, func(t *testing.T, s *side) {
		s.write("x.conf", outputs)
		s.write("ear.py", earScript)
		s.write("wrapped", `#!/bin/sh
exec unshare -m sh -c 'mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9 &&
	ln -s /proc/self/fd /dev/fd && ln -s DIR/syslog /dev/log && exec "$@"' sh `+s.path+` "$@"
`)
		s.path = filepath.Join(s.dir, "wrapped")
		syslog, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(s.dir, "syslog"), Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		defer syslog.Close()
		s.start("-nc", "DIR/x.conf")
		if got := s.await("captured.out", "follows\n"); got != "one two three and what follows\n" {
			t.Errorf("the log has %q", got)
		}
		heard := s.await("heard", "listeners\n")
		if !strings.HasPrefix(heard, "PROCESS_COMMUNICATION_STDOUT\nprocessname:captured groupname:captured pid:") {
			t.Errorf("the listener heard %q", heard)
		}
		for _, want := range []string{"supervisord: plain to syslog", "supervisord: plain twice"} {
			buf := make([]byte, 1000)
			_ = syslog.SetReadDeadline(time.Now().Add(patience))
			n, err := syslog.Read(buf)
			if got := string(buf[:n]); err != nil || !strings.HasPrefix(got, "<14>") || !strings.HasSuffix(strings.TrimRight(got, "\x00"), want) {
				t.Errorf("syslog got %q, %v; want %q", got, err, want)
			}
		}
		s.await("plain.out", "to syslog\ntwice\n")
		for _, sentence := range []string{
			"success: plain entered RUNNING state, process has stayed up for > than 1 seconds (startsecs)",
			"success: captured entered RUNNING state, process has stayed up for > than 0 seconds (startsecs)",
			"gave up: failing entered FATAL state, too many start retries too quickly",
			"exited: failing (exit status 3; not expected)",
			"exited: once (exit status 0; expected)",
			"spawned: 'plain' with pid ",
			"'plain' stdout output:",
		} {
			s.await("log", sentence)
		}
		s.stop()
		s.await("log", "stopped: plain (terminated by SIGTERM)")
	})
}

// TestASuspendedProgramEndsByItsStopSignal is where the unit is better: supervisord
// kills such a program after stopwaitsecs.
func TestASuspendedProgramEndsByItsStopSignal(t *testing.T) {
	t.Parallel()
	s := &side{t: t, dir: openFolder(t), path: unitBinary}
	s.write("x.conf", "[supervisord]\nlogfile=DIR/log\npidfile=DIR/pid\nchildlogdir=DIR\n"+
		"[program:x]\ncommand=/bin/sh -c 'trap \"echo ended > DIR/ended; exit 0\" TERM; kill -STOP $$; sleep 1000'\n"+
		"stopwaitsecs=600\n")
	s.start("-nc", "DIR/x.conf")
	_, pid, _ := strings.Cut(s.await("log", "spawned: 'x'"), "with pid ")
	pid = pid[:strings.IndexFunc(pid, func(r rune) bool { return r < '0' || r > '9' })]
	s.await("/proc/"+pid+"/stat", ") T ")
	if code := s.stop(); code != 0 || !s.exists("ended") {
		t.Errorf("exit code %d; ended by its signal: %t", code, s.exists("ended"))
	}
}

// fcgiApp answers each connection to the socket that is its standard input.
const fcgiApp = `import os, socket
server = socket.socket(fileno=os.dup(0))
open("DIR/up", "a").write("%d\n" % os.getpid())
while True:
    connection, _ = server.accept()
    connection.sendall(b"%d %d\n" % (os.getpid(), os.getuid()))
    connection.close()
`

// TestRootFollowsNoLinkOfAnotherUser is where the unit is right: supervisord as root
// overwrites the file, and changes its owner.
func TestRootFollowsNoLinkOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be misled")
	}
	s := &side{t: t, dir: openFolder(t), path: unitBinary}
	for _, name := range []string{"log", "pid", "op.log", "server.sock"} {
		s.write("victim", "secret")
		if err := os.Symlink(filepath.Join(s.dir, "victim"), filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(s.dir, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	s.write("x.conf", "[supervisord]\nlogfile=DIR/log\npidfile=DIR/pid\nchildlogdir=DIR\n"+marker+"stdout_logfile=DIR/op.log\n"+
		"[fcgi-program:local]\ncommand=/bin/sleep 1000\nsocket=unix://DIR/server.sock\nsocket_owner=nobody\n")
	s.start("-nc", "DIR/x.conf")
	s.await("up", "\n")
	if code := s.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	info, err := os.Stat(filepath.Join(s.dir, "victim"))
	if err != nil || info.Size() != int64(len("secret")) || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("the file of root is %+v, %v", info, err)
	}
}

func TestProcessesOfAnFCGIProgramShareTheirSocket(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, s *side) {
		address := fmt.Sprintf("127.0.0.1:%d", freeport.Find(t))
		s.write("app.py", fcgiApp)
		s.write("x.conf", `[supervisord]
logfile=DIR/log
pidfile=DIR/pid
childlogdir=DIR
[fcgi-program:web]
command=python3 DIR/app.py
numprocs=2
process_name=web_%(process_num)d
autorestart=false
socket=tcp://`+address+`
socket_backlog=5
[fcgi-program:local]
command=python3 DIR/app.py
socket=unix://DIR/%(program_name)s.sock
socket_mode=0711
`)
		s.write("local.sock", "what is there is replaced")
		s.start("-nc", "DIR/x.conf")
		var up []string
		for deadline := time.Now().Add(patience); len(up) < 3 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			up = strings.Fields(s.await("up", "\n"))
		}
		ask := func(network, address string) string {
			t.Helper()
			conn, err := net.DialTimeout(network, address, patience)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			text, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			pid, _, _ := strings.Cut(string(text), " ")
			return pid
		}
		local := filepath.Join(s.dir, "local.sock")
		one := ask("unix", local)
		if info, err := os.Stat(local); err != nil || info.Mode().Perm() != 0o711 {
			t.Errorf("the socket: %v, %v", info, err)
		}
		// Without the one that answers, the other one does.
		other := ask("tcp", address)
		pid, err := strconv.Atoi(other)
		if err != nil || !slices.Contains(up, other) || !slices.Contains(up, one) || one == other {
			t.Fatalf("%q and %q answer, of %q; %v", one, other, up, err)
		}
		s.await("log", "web_1 entered RUNNING")
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		s.await("log", "terminated by SIGKILL")
		if third := ask("tcp", address); third == other || third == one || !slices.Contains(up, third) {
			t.Errorf("%q answers", third)
		}
		s.stop()
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Error("the socket outlives its programs")
		}
	})
}
