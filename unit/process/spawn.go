package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/proctree"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// execFailed is the exit code of a main process that could not be executed, as in shells and
// Supervisor.
const execFailed = 127

// spawn starts the main process and reports the result to the state machine.
func (p *owner) spawn(ctx context.Context) error {
	p.stopWatch()
	p.mainPID = 0
	p.use(Output{}) // a failed start must not show the output of the previous run
	p.publish(func(s *Status) {
		*s = Status{Run: s.Run + 1, State: s.State, Started: p.table.opts.Now(), Stopped: s.Stopped, Unlive: s.Unlive, Death: s.Death}
	})
	child, err := p.fork(ctx)
	switch {
	case err == nil:
		p.child = child
		p.counters.started()
		p.publish(func(s *Status) { s.PID = child.PID() })
		p.table.log.Info(fmt.Sprintf("spawned: '%s' with pid %d", p.cfg.Name, child.PID()), "component", p.cfg.Group, "operation", p.cfg.Name, "pid", child.PID())
		return p.step(ctx, event{kind: spawned})
	case p.rules.kind != protocol.KindNone || !isExecError(err):
		p.table.log.Error("cannot start", "process", p.Name(), "error", err)
		p.publish(func(s *Status) { s.SpawnErr = spawnError(err) })
		return p.step(ctx, event{kind: spawnFailed})
	}
	// Supervisor forks before it executes, so for its clients a program that cannot be executed has
	// exited with 127.
	p.table.log.Error("cannot start", "process", p.Name(), "error", err)
	p.publish(func(s *Status) {
		s.SpawnErr, s.Stopped, s.Exit = err.Error(), p.table.opts.Now(), &Exit{Code: execFailed}
		s.Death = &wire.Death{Exit: ExitOnWire(s.Exit)}
	})
	p.counters.started()
	p.counters.ended(Exit{Code: execFailed})
	if err := p.step(ctx, event{kind: spawned}); err != nil {
		return err
	}
	return p.step(ctx, event{kind: exited, code: execFailed, early: p.Settings().StartSecs > 0})
}

// spawnError returns the text of a fault without the name, as Supervisor shows it.
func spawnError(err error) string {
	var fault *wire.Fault
	if errors.As(err, &fault) {
		return fault.Detail
	}
	return err.Error()
}

// isExecError reports whether an error is from executing the command rather than from finding it or
// forking.
func isExecError(err error) bool {
	var fault *wire.Fault
	return !errors.As(err, &fault) && !errors.Is(err, syscall.EAGAIN) &&
		!errors.Is(err, syscall.ENOMEM) && !errors.Is(err, syscall.EMFILE)
}

// fork starts the main process with pipes as its standard files.
func (p *owner) fork(ctx context.Context) (child *reaper.Child, err error) {
	path, err := p.findCommand(p.cfg.Argv[0])
	if err != nil {
		return nil, err
	}
	if err := p.prepareChecks(); err != nil {
		return nil, err
	}
	socket, err := p.table.sockets.acquire(ctx, p.cfg.Socket)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.table.sockets.release(p.cfg.Socket)
		}
	}()
	ours := Output{source: newOutputSource()}
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
		Around: p.table.tree.Around(p.number, p.table.representative(p.Program)),
	}
	p.registerMark(p.number)
	if p.cfg.Component != "" {
		spec.Cgroup = p.table.tree.Cgroup(p.cfg.Component)
	}
	if p.cfg.Umask >= 0 {
		spec.Umask = &p.cfg.Umask
	}
	if socket != nil {
		spec.Stdin = socket
	}
	p.listen(stdin) // before the process can print: a reader of its output may answer at once
	if child, err = p.table.reaper.Start(spec); err != nil {
		p.closeStdin()
		ours.close()
		return nil, p.explainPrivilege(err)
	}
	p.connection = p.attachListener(stdin)
	ours.PID = child.PID()
	ours.source.set(child.PID(), p.connection)
	p.use(ours)
	return child, nil
}

// reserve is the number of file descriptors that programs cannot use, since the unit needs some to
// stop processes and answer requests. With a low limit it is a quarter of it.
const reserve = 64

// checkReserve returns an error if the last opened file, or more files to be opened, use descriptors
// of the reserve. The kernel assigns the lowest free descriptor, so the last file opened shows how many
// are used; an earlier one may have filled a gap.
func checkReserve(last *os.File, more int) error {
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

// Executable returns a fault if the program's command cannot be found or executed.
func (p *Program) Executable() error {
	_, err := p.findCommand(p.cfg.Argv[0])
	return err
}

// findCommand finds a command as Supervisor does: a name without a slash is looked up in the PATH
// of the program or of the unit. Its errors are faults.
func (p *Program) findCommand(name string) (string, error) {
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
		search = p.table.opts.Env["PATH"]
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

// environment returns the environment of the main process: the unit's own without its credentials,
// Supervisor's variables, the program's settings, its mark, and the inputs of this run. An
// operation gets no other inputs.
func (p *owner) environment() []string {
	env := maps.Clone(p.table.opts.Env)
	if p.cfg.Component != "" {
		maps.DeleteFunc(env, func(name, _ string) bool { return strings.HasPrefix(name, "INPUT_") })
	}
	env["SUPERVISOR_ENABLED"] = "1"
	env["SUPERVISOR_PROCESS_NAME"] = p.cfg.Name
	env["SUPERVISOR_GROUP_NAME"] = p.cfg.Group
	if url := p.cfg.ServerURL; url != "" {
		env["SUPERVISOR_SERVER_URL"] = url
	} else if p.table.opts.ServerURL != "" {
		env["SUPERVISOR_SERVER_URL"] = p.table.opts.ServerURL
	}
	maps.Copy(env, p.cfg.Environment)
	component, operation := p.cfg.Component, p.cfg.Operation.String()
	if operation == "" {
		component, operation = p.cfg.Group, p.cfg.Name
	}
	for _, list := range [][]string{p.table.tree.Env(p.number, component, operation), p.runEnv, p.readiness.env()} {
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

// registerMark registers the component and user behind a mark with the process tree, before the
// program or one of its checks starts.
func (p *Program) registerMark(number proctree.Program) {
	name, uid := p.cfg.Component, os.Geteuid()
	if name == "" {
		name = p.Name() // contains a colon, unlike any component name
	}
	if c := credential(p.cfg.User); c != nil {
		uid = int(c.Uid)
	}
	p.table.tree.Describe(number, p.table.representative(p), name, uid)
}

// explainPrivilege explains an error that is caused by the program's user setting.
func (p *Program) explainPrivilege(err error) error {
	if c := credential(p.cfg.User); c != nil && errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("cannot become user %d of group %d: the unit runs as user %d, without the right to: %w", c.Uid, c.Gid, os.Geteuid(), err)
	}
	return err
}

func credential(user *config.User) *syscall.Credential {
	if user == nil {
		return nil
	}
	c := &syscall.Credential{Uid: uint32(user.UID), Gid: uint32(user.GID)}
	for _, group := range user.Groups {
		c.Groups = append(c.Groups, uint32(group))
	}
	// Without permission to set groups, it is sufficient to be that user already.
	if os.Geteuid() != 0 && os.Geteuid() == user.UID && os.Getegid() == user.GID {
		return nil
	}
	return c
}
