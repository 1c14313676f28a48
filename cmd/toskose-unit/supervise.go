package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"syscall"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/config"
)

// supervise runs the unit until it ends.
func supervise(ctx context.Context, args []string, s surroundings) int {
	thrift()
	file, _, ok := configFlags("run", args, s)
	if !ok {
		return exitConfig
	}
	dir, err := os.Getwd()
	if err != nil {
		complain(s, err)
		return exitFailed
	}
	read := func() (*config.Config, []config.Warning, error) { return config.LoadFrom(dir, file, s.env) }
	c, warnings, err := read()
	if err != nil {
		complain(s, err)
		return exitConfig
	}
	if err := prepare(c.Supervisord); err != nil {
		complain(s, err)
		return exitConfig
	}
	logger, ownLog := openLog(c.Supervisord)
	for _, w := range warnings {
		logger.Warn("configuration", "warning", w.String())
	}
	servers, err := listenAll(ctx, c, s.env, logger)
	if err != nil {
		complain(s, err)
		return exitConfig
	}
	defer servers.close()
	if err := become(c.Supervisord.User); err != nil {
		complain(s, err)
		return exitFailed
	}
	u, err := unit.New(unit.Options{
		Config: c, Env: s.env, Logger: logger, Log: ownLog, Version: version, Reread: read,
	})
	if err != nil {
		complain(s, err)
		return exitFailed
	}
	logger.Info("toskose-unit started", "version", version, "pid", os.Getpid(), "configuration", c.File)
	defer writePID(c.Supervisord.PIDFile, logger)()
	calls := newPauses(forget)
	defer calls.end()
	stopServing := servers.serve(ctx, u, calls, logger)
	err = u.Run(ctx)
	stopServing()
	return conclude(err, logger)
}

// conclude gives the exit code for how the unit ended.
func conclude(err error, logger *slog.Logger) int {
	var essential *unit.EssentialError
	switch {
	case errors.As(err, &essential):
		logger.Info("ended", "because", err)
		return essential.Code
	case errors.Is(err, unit.ErrRestart):
		return restart(logger)
	case err != nil:
		logger.Error("ended", "error", err)
		return exitFailed
	}
	logger.Info("ended")
	return exitOK
}

// prepare makes the process what [supervisord] says.
func prepare(d config.Supervisord) error {
	syscall.Umask(d.Umask)
	if d.Directory != "" {
		if err := os.Chdir(d.Directory); err != nil {
			return fmt.Errorf("cannot use the directory of [supervisord]: %w", err)
		}
	}
	return nil
}

// become gives up the rights of root for those of a user.
func become(user *config.User) error {
	if user == nil || os.Geteuid() == user.UID {
		return nil
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("cannot become user %d of [supervisord]: only root can", user.UID)
	}
	err := syscall.Setgroups(user.Groups)
	if err == nil {
		err = syscall.Setgid(user.GID)
	}
	if err == nil {
		err = syscall.Setuid(user.UID)
	}
	if err != nil {
		return fmt.Errorf("cannot become user %d of [supervisord]: %w", user.UID, err)
	}
	return nil
}

// writePID leaves the process id in a file until the unit ends.
func writePID(path string, logger *slog.Logger) (remove func()) {
	if path == "" {
		return func() {}
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		logger.Error("cannot write the pidfile", "error", err)
		return func() {}
	}
	return func() { _ = os.Remove(path) }
}

// restart begins again in the same process, with the same arguments.
func restart(logger *slog.Logger) int {
	path, err := os.Executable()
	if err == nil {
		logger.Info("restarting")
		err = syscall.Exec(path, os.Args, os.Environ())
	}
	logger.Error("cannot restart", "error", err)
	return exitFailed
}
