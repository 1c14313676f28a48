package main

import (
	"io"
	"log/slog"
	"syscall"
	"time"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/logs"
)

// openLog opens the unit's log: lines of text on stderr and in the configured file. Neither a full
// disk nor a slow reader blocks the unit. It first logs the warnings of the configuration.
func openLog(d config.Supervisord, warnings []config.Warning) (*slog.Logger, *logs.File) {
	const stderr = "/dev/stderr"
	var to multiWriter
	if !d.Silent && d.LogFile != stderr {
		to = append(to, logs.New(stderr, logs.Options{}))
	}
	var file *logs.File
	switch d.LogFile {
	case "":
	case config.LogToSyslog:
		to = append(to, logs.NewSyslog(logs.SyslogSocket, "", time.Now))
	default:
		file = logs.New(d.LogFile, logs.Options{MaxBytes: d.LogMaxBytes, Backups: d.LogBackups})
		to = append(to, file)
	}
	logger := slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: d.LogLevel.Slog()}))
	if file != nil {
		if err := file.Open(); err != nil { // clients may read it before the first entry
			logger.Warn("cannot open the log", "error", err)
		}
	}
	for _, w := range warnings {
		logger.Warn("configuration", "warning", w.String())
	}
	return logger, file
}

// multiWriter writes to all of its writers, regardless of errors.
type multiWriter []io.Writer

func (f multiWriter) Write(p []byte) (int, error) {
	for _, w := range f {
		_, _ = w.Write(p)
	}
	return len(p), nil
}

// underUmask calls do under another umask. No other goroutine creates files at that time.
func underUmask(umask int, do func() error) error {
	defer syscall.Umask(syscall.Umask(umask))
	return do()
}
