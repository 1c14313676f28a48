package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/limits"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/safepath"
)

// supervise runs the unit until it ends.
func supervise(ctx context.Context, args []string, s system) int {
	terminated := unit.ReceiveTermination()
	debug.SetGCPercent(gcPercent)
	f, code, ok := parseCommandFlags("run", args, s)
	if !ok {
		return code
	}
	file, err := f.configuration(s)
	if err != nil {
		printError(s, err)
		return exitConfig
	}
	read, err := configReader(file, f.overrides, s)
	if err != nil {
		printError(s, err)
		return exitFailed
	}
	c, warnings, err := read()
	if err != nil {
		printError(s, err)
		return exitConfig
	}
	if err := checkDirectory(c.Supervisord.Directory); err != nil {
		printError(s, err)
		return exitConfig
	}
	s.ignoreAsPython()
	debug.SetGCPercent(gcPercentOf(c))
	syscall.Umask(c.Supervisord.Umask)
	logger, ownLog := openLog(c.Supervisord, warnings)
	defer logs.Flush()
	servers, err := listenAll(ctx, c, s, logger)
	if err != nil {
		printError(s, err)
		return exitConfig
	}
	defer servers.close()
	if err := switchUser(c.Supervisord.User); err != nil {
		printError(s, err)
		return exitFailed
	}
	if err := limits.Raise(c.Supervisord.MinFDs, c.Supervisord.MinProcs); err != nil {
		logger.Warn("cannot raise a limit", "error", err)
	}
	u, err := unit.New(unit.Options{
		Config: c, Env: s.env, Joined: s.joins(), Logger: logger, Log: ownLog, Version: version, Reread: read, Terminated: terminated,
	})
	if err != nil {
		printError(s, err)
		return exitFailed
	}
	logger.Info("toskose-unit started", "version", version, "pid", os.Getpid(), "configuration", c.File)
	defer writePID(c.Supervisord.PIDFile, logger)()
	idle := watchIdle(releaseMemory)
	defer idle.stop()
	stopServing := servers.serve(ctx, u, idle, logger)
	err = u.Run(ctx)
	stopServing()
	return conclude(ctx, err, terminated, logger)
}

// configReader returns a function that loads the configuration, at the start and at each reload, with relative paths below
// the present working directory.
func configReader(file string, overrides map[string]string, s system) (func() (*config.Config, []config.Warning, error), error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return func() (*config.Config, []config.Warning, error) {
		return config.LoadFrom(dir, file, s.visibleEnv(), overrides)
	}, nil
}

// conclude logs how the unit ended and returns the exit code.
func conclude(ctx context.Context, err error, terminated <-chan os.Signal, logger *slog.Logger) int {
	var essential *unit.EssentialError
	switch {
	case errors.As(err, &essential):
		level := slog.LevelInfo
		if essential.Code != exitOK {
			level = slog.LevelError
		}
		logger.Log(ctx, level, "ended", "because", err)
		return essential.Code
	case errors.Is(err, unit.ErrRestart):
		return restart(terminated, logger)
	case err != nil:
		logger.Error("ended", "error", err)
		return exitFailed
	}
	logger.Info("ended")
	return exitOK
}

// checkDirectory returns an error if the directory of [supervisord] does not exist. (supervisord
// changes to it only as a daemon, which the unit never is.)
func checkDirectory(dir string) error {
	if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
		return fmt.Errorf("[supervisord] directory=%s is not a directory", dir)
	}
	return nil
}

// switchUser switches from root to a user.
func switchUser(user *config.User) error {
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

// writePID writes the process id to a file and returns a function that removes the file, unless it
// is not a regular file or has been overwritten by another process.
func writePID(path string, logger *slog.Logger) (remove func()) {
	text := []byte(strconv.Itoa(os.Getpid()) + "\n")
	if err := safepath.WriteFile(path, text, 0o644); err != nil {
		logger.Error("cannot write the pidfile", "error", err)
		return func() {}
	}
	return func() {
		info, err := safepath.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			return
		}
		if now, err := safepath.ReadFile(path); err == nil && bytes.Equal(now, text) {
			_ = safepath.Remove(path)
		}
	}
}

// restart executes the unit again in the same process, with the same arguments, unless a signal has
// ended it while it stopped.
func restart(terminated <-chan os.Signal, logger *slog.Logger) int {
	path, err := os.Executable()
	if err == nil {
		logger.Info("restarting")
		logs.Flush()
		select {
		case sig := <-terminated:
			logger.Info("received during a restart, which it ends", "signal", sig.String())
			return exitOK
		default:
			err = syscall.Exec(path, os.Args, os.Environ())
		}
	}
	logger.Error("cannot restart", "error", err)
	return exitFailed
}
