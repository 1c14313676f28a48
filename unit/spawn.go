package unit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// execFailed is the exit code of a main process that could not become its
// program, as a shell and Supervisor have it.
const execFailed = 127

// spawn starts the main process and tells the state machine how that went.
func (p *program) spawn(ctx context.Context) error {
	p.stopWatch()
	p.mainPID = 0
	p.publish(func(s *status) {
		*s = status{run: s.run + 1, state: s.state, started: p.world.now(), stopped: s.stopped}
	})
	child, err := p.fork()
	switch {
	case err == nil:
		p.child = child
		p.tally.started()
		p.publish(func(s *status) { s.pid = child.PID() })
		p.world.log.Info("process started", "component", p.cfg.Group, "operation", p.cfg.Name, "pid", child.PID())
		return p.step(ctx, event{what: spawned})
	case p.rules.kind != wire.OperationNone || !neverRan(err):
		p.world.log.Error("cannot start", "process", p.name(), "error", err)
		p.publish(func(s *status) { s.spawnErr = spawnError(err) })
		return p.step(ctx, event{what: unspawnable})
	}
	// Supervisor forks first and executes then, so that to its clients a
	// program that cannot be executed is one that exits with 127.
	p.world.log.Error("cannot start", "process", p.name(), "error", err)
	p.publish(func(s *status) {
		s.spawnErr, s.stopped, s.exit = err.Error(), p.world.now(), &reaper.Exit{Code: execFailed}
	})
	p.tally.started()
	p.tally.ended(reaper.Exit{Code: execFailed})
	if err := p.step(ctx, event{what: spawned}); err != nil {
		return err
	}
	return p.step(ctx, event{what: exited, code: execFailed, early: p.settings().StartSecs > 0})
}

// spawnError is a fault's text without its name, as Supervisor shows it.
func spawnError(err error) string {
	var fault *wire.Fault
	if errors.As(err, &fault) {
		return fault.Detail
	}
	return err.Error()
}

// neverRan tells an error of executing from one of finding the command or of
// forking.
func neverRan(err error) bool {
	var fault *wire.Fault
	return !errors.As(err, &fault) && !errors.Is(err, syscall.EAGAIN) &&
		!errors.Is(err, syscall.ENOMEM) && !errors.Is(err, syscall.EMFILE)
}

// fork starts the main process with pipes as its standard files.
func (p *program) fork() (*reaper.Child, error) {
	path, err := p.executable()
	if err != nil {
		return nil, err
	}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	ours := output{author: newAuthor()}
	stdin, childs, err := ours.open(p)
	if err != nil {
		return nil, fmt.Errorf("cannot make pipes: %w", err)
	}
	defer childs.close()
	p.openLogs()
	spec := reaper.Spec{
		Path: path, Args: p.cfg.Argv, Env: p.environment(), Dir: p.cfg.Directory,
		Credential: credential(p.cfg.User),
		Stdin:      childs.in, Stdout: childs.out, Stderr: childs.err,
		Around: p.world.tree.Around(p.number),
	}
	if p.cfg.Umask >= 0 {
		spec.Umask = &p.cfg.Umask
	}
	child, err := p.world.reaper.Start(spec)
	if err != nil {
		stdin.Close()
		ours.close()
		return nil, err
	}
	p.ear = p.hark(stdin)
	ours.author.is(child.PID(), p.ear)
	p.mu.Lock()
	p.stdin, p.output = stdin, ours
	p.mu.Unlock()
	return child, nil
}

// reserve is how many descriptors are kept from programs: without any the unit
// could neither see what is to be stopped nor answer. Of few, it is a quarter.
const reserve = 64

// spared refuses a file that was opened into the reserve, or after which more
// are to be opened than there is room for before it. The kernel gives the lowest
// number that is free, so that of some files the last tells how many are used:
// an earlier one may fill the place of one that has been closed since.
func spared(last *os.File, more int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	used := uint64(last.Fd()) + 1
	if used+uint64(more) > limit.Cur-min(reserve, limit.Cur/4) {
		return fmt.Errorf("%w: %d of %d are used, and the unit needs the rest", syscall.EMFILE, used, limit.Cur)
	}
	return nil
}

// executable finds the command as Supervisor does: a name without a slash in
// PATH, the program's own or the unit's. Its errors are faults.
func (p *program) executable() (string, error) {
	return p.find(p.cfg.Argv[0])
}

// find is executable for any command.
func (p *program) find(name string) (string, error) {
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.cfg.Directory, path)
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return "", wire.NewFault(wire.NoFile, err.Error())
		}
		return path, checkExecutable(name, path)
	}
	search, ok := p.cfg.Environment["PATH"]
	if !ok {
		search = p.world.env["PATH"]
	}
	for _, dir := range filepath.SplitList(search) {
		path, err := filepath.Abs(filepath.Join(dir, name))
		if err == nil && checkExecutable(name, path) == nil {
			return path, nil
		}
	}
	return "", wire.NewFault(wire.NoFile, fmt.Sprintf("can't find command '%s'", name))
}

func checkExecutable(name, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return wire.NewFault(wire.NoFile, fmt.Sprintf("can't find command '%s'", name))
	case err != nil:
		return wire.NewFault(wire.NotExecutable, fmt.Sprintf("no permission to run command '%s'", name))
	case info.IsDir():
		return wire.NewFault(wire.NotExecutable, fmt.Sprintf("command at '%s' is a directory", name))
	case info.Mode()&0o111 == 0:
		return wire.NewFault(wire.NotExecutable, fmt.Sprintf("command at '%s' is not executable", name))
	}
	return nil
}

// environment is all that the process gets: the unit's own without its
// credentials, Supervisor's variables, the program's, its mark, and the inputs
// of this run.
func (p *program) environment() []string {
	env := maps.Clone(p.world.env)
	env["SUPERVISOR_ENABLED"] = "1"
	env["SUPERVISOR_PROCESS_NAME"] = p.cfg.Name
	env["SUPERVISOR_GROUP_NAME"] = p.cfg.Group
	if url := p.cfg.ServerURL; url != "" {
		env["SUPERVISOR_SERVER_URL"] = url
	} else if p.world.url != "" {
		env["SUPERVISOR_SERVER_URL"] = p.world.url
	}
	maps.Copy(env, p.cfg.Environment)
	component, operation := p.cfg.Component, p.cfg.Qualified()
	if operation == "" {
		component, operation = p.cfg.Group, p.cfg.Name
	}
	for _, list := range [][]string{p.world.tree.Env(p.number, component, operation), p.extra, p.notifyEnv()} {
		for _, variable := range list {
			name, value, _ := strings.Cut(variable, "=")
			env[name] = value
		}
	}
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

func credential(user *config.User) *syscall.Credential {
	if user == nil {
		return nil
	}
	c := &syscall.Credential{Uid: uint32(user.UID), Gid: uint32(user.GID)}
	for _, group := range user.Groups {
		c.Groups = append(c.Groups, uint32(group))
	}
	// Without the right to change groups, being that user already is enough.
	if os.Geteuid() != 0 && os.Geteuid() == user.UID && os.Getegid() == user.GID {
		return nil
	}
	return c
}

// output carries what a main process and its children write.
type output struct {
	stdout, stderr *logs.Pump // stderr is nil when it goes where stdout does
	author         *author
}

// ends are those of the pipes that the child gets.
type ends struct{ in, out, err *os.File } // err is out when stderr goes where stdout does

func (e ends) close() {
	for _, f := range []*os.File{e.in, e.out, e.err} {
		_ = f.Close() // nil, or closed before: an error, and nothing else
	}
}

// open makes the pipes; the child's ends are the caller's to close. One program
// at a time does, and what is not spared is closed before the next one does, so
// that many starts at once cannot use up the reserve among them, either.
func (o *output) open(p *program) (stdin *os.File, childs ends, err error) {
	p.world.opening.Lock()
	defer p.world.opening.Unlock()
	if childs.in, stdin, err = os.Pipe(); err != nil {
		return nil, ends{}, err
	}
	if childs.out, childs.err, err = o.start(p); err == nil {
		err = spared(childs.err, 2) // and its two logs
	}
	if err != nil {
		stdin.Close()
		childs.close()
		o.close()
		return nil, ends{}, err
	}
	return stdin, childs, nil
}

// start begins to carry what the child is going to write.
func (o *output) start(p *program) (childOut, childErr *os.File, err error) {
	if o.stdout, childOut, err = logs.Start(p.copied(wire.Stdout, p.tap(p.overhear(writer(p.stdoutLog), wire.Stdout, o.author)))); err != nil || p.cfg.RedirectStderr {
		return childOut, childOut, err
	}
	o.stderr, childErr, err = logs.Start(p.copied(wire.Stderr, p.tap(p.overhear(writer(p.stderrLog), wire.Stderr, o.author))))
	return childOut, childErr, err
}

// openLogs is last, since a log that was opened stays so, also where nothing is
// started. One that cannot be opened is tried again with every write.
func (p *program) openLogs() {
	for _, f := range []*logs.File{p.stdoutLog, p.stderrLog} {
		if f == nil {
			continue
		}
		if err := f.Open(); err != nil {
			p.world.log.Warn("cannot open a log", "process", p.name(), "error", err)
		}
	}
}

func writer(f *logs.File) io.Writer {
	if f == nil {
		return io.Discard
	}
	return f
}

// sync takes in what a process that has ended wrote, to the end of a line that
// has none.
func (o output) sync() {
	for _, pump := range []*logs.Pump{o.stdout, o.stderr} {
		if pump != nil {
			pump.Sync()
			pump.Flush()
		}
	}
}

func (o output) close() {
	o.author.is(0, nil)
	for _, pump := range []*logs.Pump{o.stdout, o.stderr} {
		if pump != nil {
			pump.Close()
		}
	}
}

// tails gives the end of each stream.
func (o output) tails() (stdout, stderr string) {
	if o.stdout != nil {
		stdout = string(o.stdout.Tail())
	}
	if o.stderr != nil {
		stderr = string(o.stderr.Tail())
	}
	return stdout, stderr
}

// closeStdin gives up the main process's standard input.
func (p *program) closeStdin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stdin != nil {
		p.stdin.Close()
		p.stdin = nil
	}
}
