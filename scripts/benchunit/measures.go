package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	chatterBytes = 200 << 20
	orphans      = 10_000
	manyCalls    = 10_000
	manyPrograms = 1_000
)

// measures are the lines of the table, in order.
func measures(runs int) []measure {
	few := min(runs, 3)
	list := []measure{
		{"binary size", bytesOf, "9 MB", 1, true, size},
		{"resident, idle", bytesOf, "8 MB", few, true, resident(0)},
		{"resident, after 10,000 calls", bytesOf, "10 MB", 1, false, resident(manyCalls)},
		{"start to first answer", seconds, "10 ms", runs, false, firstAnswer},
		{"start to end, with --version", seconds, "", runs, false, startAlone},
		{"getAllProcessInfo, 10 programs", seconds, "", runs, false, allProcessInfo(10, 100)},
		{"getAllProcessInfo, 1,000 programs", seconds, "", few, false, allProcessInfo(manyPrograms, 5)},
		{"startProcess to exit seen", seconds, "2 ms", runs, false, exitSeen},
		{"stopProcess", seconds, "2 ms", runs, false, stopping(0, time.Second/5)},
		{"stopProcess at once after the start", seconds, "2 ms", few, false, stopping(0, 0)},
		{"stopProcess, 50 other processes", seconds, "2 ms", runs, false, stopping(50, time.Second/5)},
		{"stopProcess, 500 other processes", seconds, "linear", few, false, stopping(500, time.Second/5)},
		{"shutdown, one program running", seconds, "10 ms", runs, false, shutdown},
		{"10,000 orphans forked and reaped", seconds, "", 1, false, reaping(false)},
		{"10,000 orphans, its CPU time", seconds, "", few, false, reaping(true)},
		{"log throughput, if nothing were kept", throughput, "", few, false, ceiling},
		{"log throughput, one chatty program", throughput, "10 times", few, false, logging(false, 0)},
		{"log throughput beside 1,000 other programs", throughput, "", few, false, logging(false, manyPrograms)},
		{"log bytes per second of its CPU time", throughput, "", few, false, logging(true, 0)},
		{"1,000 programs started", seconds, "", 1, false, manyAtOnce(true)},
		{"1,000 programs stopped", seconds, "", 1, false, manyAtOnce(false)},
		{"latest of 2,000 lines, 2,000 a second", seconds, "10 ms", few, false, latestLine},
		{"1,000 liveness checks by HTTP, its CPU time", seconds, "50 ms", few, false, livenessChecks("toskose_live_http=http://%s/")},
		{"1,000 liveness checks by TCP, its CPU time", seconds, "50 ms", few, false, livenessChecks("toskose_live_tcp=%s")},
	}
	for _, many := range []int{1, 8} {
		for _, size := range []int{80, 100, 1000, 4096} {
			name := fmt.Sprintf("lines of %d bytes per second of its CPU time, %d programs", size, many)
			list = append(list, measure{name, throughput, "3 times", few, false, smallLines(size, many)})
		}
	}
	return list
}

func size(c contender, _ string) (float64, error) {
	total := 0.0
	for _, file := range c.files {
		info, err := os.Stat(file)
		if err != nil {
			return 0, err
		}
		total += float64(info.Size())
	}
	return total, nil
}

// with runs a contender as PID 1 for one measurement.
func with(c contender, dir, sections string, do func(p *process) (float64, error)) (float64, error) {
	p, err := c.start(dir, sections, true)
	if err != nil {
		return 0, err
	}
	defer p.kill()
	return do(p)
}

// quiet is the time without requests after which a contender counts as idle.
const quiet = time.Second

func resident(calls int) func(contender, string) (float64, error) {
	return func(c contender, dir string) (float64, error) {
		return with(c, dir, tenPrograms(), func(p *process) (float64, error) {
			for i := range calls {
				method, args := "supervisor.getAllProcessInfo", []any(nil)
				if i%2 == 1 {
					method, args = "supervisor.getProcessInfo", []any{"p:p_1"}
				}
				if _, err := p.call(method, args...); err != nil {
					return 0, err
				}
			}
			time.Sleep(quiet)
			return p.resident()
		})
	}
}

func tenPrograms() string { return programs(10) }

func programs(many int) string {
	return program("p", "sleep 1000", fmt.Sprintf("numprocs=%d", many), "process_name=%(program_name)s_%(process_num)d", "stdout_logfile=NONE", "stderr_logfile=NONE")
}

// firstAnswer is measured without a namespace, because creating one takes time.
func firstAnswer(c contender, dir string) (float64, error) {
	p, err := c.start(dir, tenPrograms(), false)
	if err != nil {
		return 0, err
	}
	took := time.Since(p.begun)
	p.kill()
	return took.Seconds(), nil
}

// startAlone measures the part of a start before the contender's own work: fork, exec, and the
// initialization of its language.
func startAlone(c contender, _ string) (float64, error) {
	begun := time.Now()
	err := exec.CommandContext(context.Background(), c.path, "--version").Run()
	return time.Since(begun).Seconds(), err
}

func allProcessInfo(many, calls int) func(contender, string) (float64, error) {
	return func(c contender, dir string) (float64, error) {
		return with(c, dir, programs(many), func(p *process) (float64, error) {
			var samples []float64
			for range calls {
				took, err := p.timed("supervisor.getAllProcessInfo")
				if err != nil {
					return 0, err
				}
				samples = append(samples, took.Seconds())
			}
			return median(samples), nil
		})
	}
}

func exitSeen(c contender, dir string) (float64, error) {
	return with(c, dir, program("p", "true"), func(p *process) (float64, error) {
		var samples []float64
		for range 10 {
			begun := time.Now()
			if err := p.calls([]any{"supervisor.startProcess", "p", false}); err != nil {
				return 0, err
			}
			if err := p.awaitState("p", "EXITED"); err != nil {
				return 0, err
			}
			samples = append(samples, time.Since(begun).Seconds())
		}
		return median(samples), nil
	})
}

// stopping measures a stop some time after the start, with other processes in the container.
func stopping(others int, after time.Duration) func(contender, string) (float64, error) {
	return func(c contender, dir string) (float64, error) {
		sections := program("p", "sleep 1000") + program("others", fmt.Sprintf(
			"sh -c 'i=0; while [ $i -lt %d ]; do sleep 1000 & i=$((i+1)); done; echo up; wait'", others), "stdout_logfile=%DIR%/others.log")
		return with(c, dir, sections, func(p *process) (float64, error) {
			if others > 0 {
				if err := p.calls([]any{"supervisor.startProcess", "others", false}); err != nil {
					return 0, err
				}
				if err := awaitSize(p.dir+"/others.log", 1); err != nil {
					return 0, err
				}
			}
			var samples []float64
			for range 5 {
				if err := p.calls([]any{"supervisor.startProcess", "p", false}); err != nil {
					return 0, err
				}
				time.Sleep(after)
				took, err := p.timed("supervisor.stopProcess", "p")
				if err != nil {
					return 0, err
				}
				samples = append(samples, took.Seconds())
				if took > time.Second {
					break // a longer wait would not help, and the total time is limited
				}
			}
			return median(samples), nil
		})
	}
}

// awaitSize waits until programs have written a number of bytes.
func awaitSize(path string, size int64) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if info, err := os.Stat(path); err == nil && info.Size() >= size {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%s did not reach %d bytes", path, size)
}

func shutdown(c contender, dir string) (float64, error) {
	p, err := c.start(dir, program("p", "sleep 1000"), true)
	if err != nil {
		return 0, err
	}
	if err := p.calls([]any{"supervisor.startProcess", "p", false}); err != nil {
		p.kill()
		return 0, err
	}
	time.Sleep(time.Second / 5)
	took, err := p.stop()
	return took.Seconds(), err
}

// reaping makes a shell fork twice for each orphan, and waits until all are reaped. It measures
// the elapsed time or the contender's processor time.
func reaping(cpu bool) func(contender, string) (float64, error) {
	return func(c contender, dir string) (float64, error) {
		if os.Geteuid() != 0 {
			return 0, errNotApplicable
		}
		storm := program("p", fmt.Sprintf("sh -c 'i=0; while [ $i -lt %d ]; do ( : & ); i=$((i+1)); done'", orphans))
		return with(c, dir, storm, func(p *process) (float64, error) {
			before, err := p.processorTime()
			if err != nil {
				return 0, err
			}
			begun := time.Now()
			if err := p.calls([]any{"supervisor.startProcess", "p", false}); err != nil {
				return 0, err
			}
			// Do not measure the calls.
			if err := p.pollState("p", "EXITED", time.Second/10); err != nil {
				return 0, err
			}
			if err := p.awaitAlone(); err != nil {
				return 0, err
			}
			if !cpu {
				return time.Since(begun).Seconds(), nil
			}
			after, err := p.processorTime()
			return (after - before).Seconds(), err
		})
	}
}

// awaitAlone waits until the contender is the only process.
func (p *process) awaitAlone() error {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		zombies, alive, err := p.children()
		if err != nil || zombies+alive == 0 {
			return err
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("%d zombies were not reaped", zombies)
		}
	}
}

// logging measures the time from the start of a program that writes lines at full speed until all
// of them are in its log; or the contender's processor time for them. others is the number of idle
// programs.
func logging(cpu bool, others int) func(contender, string) (float64, error) {
	return func(c contender, dir string) (float64, error) {
		self, err := os.Executable()
		if err != nil {
			return 0, err
		}
		chatty := program("p", self, "environment="+role+"=chatter", "stdout_logfile=%DIR%/chatter.log", "stdout_logfile_maxbytes=0")
		if others > 0 {
			chatty += strings.ReplaceAll(programs(others), "[program:p]", "[program:others]")
		}
		return with(c, dir, chatty, func(p *process) (float64, error) {
			before, err := p.processorTime()
			if err != nil {
				return 0, err
			}
			begun := time.Now()
			if err := p.calls([]any{"supervisor.startProcess", "p", false}); err != nil {
				return 0, err
			}
			if err := awaitSize(p.dir+"/chatter.log", chatterBytes); err != nil {
				return 0, err
			}
			took := time.Since(begun)
			after, err := p.processorTime()
			if cpu {
				took = max(after-before, tick)
			}
			return chatterBytes / took.Seconds(), err
		})
	}
}

// ceiling measures the chatty program with a reader that discards its output: the maximum rate of
// the program and its pipe.
func ceiling(c contender, _ string) (float64, error) {
	if c.name != theUnit {
		return 0, errNotApplicable
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	// Fd makes reads block in the kernel, without Go's poller. The largest pipe and a buffer
	// smaller than it were the fastest.
	fd := r.Fd()
	if _, err := unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20); err != nil {
		return 0, fmt.Errorf("cannot create a large pipe: %w", err)
	}
	cmd := exec.CommandContext(context.Background(), self)
	cmd.Env, cmd.Stdout = append(os.Environ(), role+"=chatter"), w
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	w.Close()
	read := 0
	for buf := make([]byte, 256<<10); ; {
		n, err := unix.Read(int(fd), buf)
		if err == nil && n == 0 {
			break
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return 0, err
		}
		read += max(n, 0)
	}
	took := time.Since(begun)
	if err := cmd.Wait(); err != nil {
		return 0, err
	}
	if read != chatterBytes {
		return 0, fmt.Errorf("%d of %d bytes were read", read, chatterBytes)
	}
	return chatterBytes / took.Seconds(), nil
}

// chatter writes lines in blocks of 4 KiB, like programs that use stdio.
func chatter(to io.Writer, total int) error {
	text := strings.Repeat("2026-01-01 12:00:00 INFO a line of the length that lines of logs usually have, or so it is said\n", 4096)
	for written := 0; written < total; {
		at := written % len(text)
		n, err := io.WriteString(to, text[at:min(at+4096, len(text), at+total-written)])
		if err != nil {
			return err
		}
		written += n
	}
	return nil
}

// manyAtOnce measures the start or the stop of many programs.
func manyAtOnce(start bool) func(contender, string) (float64, error) {
	return func(c contender, dir string) (float64, error) {
		return with(c, dir, programs(manyPrograms), func(p *process) (float64, error) {
			started, err := p.timed("supervisor.startAllProcesses", false)
			if err != nil || start {
				return started.Seconds(), err
			}
			time.Sleep(time.Second)
			stopped, err := p.timed("supervisor.stopAllProcesses", true)
			return stopped.Seconds(), err
		})
	}
}
