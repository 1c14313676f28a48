package main

import (
	"io"
	"log/slog"
	"syscall"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/logs"
)

// openLog gives the unit's log: lines of text on stderr and in the configured
// file. Neither a full disk nor a slow reader holds the unit up.
func openLog(d config.Supervisord) (*slog.Logger, *logs.File) {
	const stderr = "/dev/stderr"
	var to fan
	if !d.Silent && d.LogFile != stderr {
		to = append(to, logs.New(stderr, logs.Options{}))
	}
	var file *logs.File
	if d.LogFile != "" {
		file = logs.New(d.LogFile, logs.Options{MaxBytes: d.LogMaxBytes, Backups: d.LogBackups})
		to = append(to, file)
	}
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: d.LogLevel.Slog()})), file
}

// fan writes to all; one that fails does not keep the others from it.
type fan []io.Writer

func (f fan) Write(p []byte) (int, error) {
	for _, w := range f {
		_, _ = w.Write(p)
	}
	return len(p), nil
}

// underUmask does something under another umask. Only this process's first
// goroutine creates files at that time.
func underUmask(umask int, do func() error) error {
	defer syscall.Umask(syscall.Umask(umask))
	return do()
}
