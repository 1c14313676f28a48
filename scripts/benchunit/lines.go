package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	lineBytes = 100 << 20 // total of all programs
	manyLines = 2_000
	lineEvery = time.Second / 2000
)

// The environment of the processes that write lines.
const (
	lineSize   = "TOSKOSE_BENCH_LINE"
	lineTotal  = "TOSKOSE_BENCH_TOTAL"
	lineFolder = "TOSKOSE_BENCH_FOLDER"
)

// smallLines measures the processor time of a contender for lines of a given size, each written
// separately.
func smallLines(size, many int) func(contender, string) (float64, error) {
	return func(c contender, dir string) (float64, error) {
		self, err := os.Executable()
		if err != nil {
			return 0, err
		}
		each := lineBytes / many / size * size
		writers := program("p", self, "numprocs="+strconv.Itoa(many), "process_name=%(process_num)d",
			fmt.Sprintf("environment=%s=lines,%s=%d,%s=%d", role, lineSize, size, lineTotal, each),
			"stdout_logfile=%DIR%/lines-%(process_num)d.log", "stdout_logfile_maxbytes=0")
		return with(c, dir, writers, func(p *process) (float64, error) {
			before, err := p.processorTime()
			if err != nil {
				return 0, err
			}
			if err := p.calls([]any{"supervisor.startProcessGroup", "p", false}); err != nil {
				return 0, err
			}
			for i := range many {
				if err := awaitSize(fmt.Sprintf("%s/lines-%d.log", p.dir, i), int64(each)); err != nil {
					return 0, err
				}
			}
			after, err := p.processorTime()
			return float64(each*many) / (after - before).Seconds(), err
		})
	}
}

// writeLines writes lines, each separately.
func writeLines() error {
	size, sizeErr := strconv.Atoi(os.Getenv(lineSize))
	total, err := strconv.Atoi(os.Getenv(lineTotal))
	if err = errors.Join(sizeErr, err); err != nil {
		return err
	}
	line := append(bytes.Repeat([]byte("x"), size-1), '\n')
	for written := 0; written < total; written += size {
		if _, err := os.Stdout.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// latestLine measures the maximum delay between the write of a line and its arrival in the log, with one line
// every half millisecond.
func latestLine(c contender, dir string) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	writer := program("p", self, fmt.Sprintf("environment=%s=punctual,%s=%%DIR%%", role, lineFolder), "stdout_logfile=%DIR%/punctual.log")
	return with(c, dir, writer, func(p *process) (float64, error) {
		if err := p.calls([]any{"supervisor.startProcess", "p", false}); err != nil {
			return 0, err
		}
		if err := p.awaitState("p", "EXITED"); err != nil {
			return 0, err
		}
		text, err := os.ReadFile(p.dir + "/latest")
		if err != nil {
			return 0, err
		}
		latest, err := time.ParseDuration(string(text))
		return latest.Seconds(), err
	})
}

// writePunctually writes a line at intervals, checks when each appears in the log, and leaves a
// file with the longest delay.
func writePunctually() error {
	folder := os.Getenv(lineFolder)
	const size = 100
	line := []byte(strings.Repeat("x", size-1) + "\n")
	var at []time.Time
	seen, latest := 0, time.Duration(0)
	for begun := time.Now(); seen < manyLines; time.Sleep(lineEvery / 10) {
		if len(at) < manyLines && time.Since(begun) >= time.Duration(len(at))*lineEvery {
			at = append(at, time.Now())
			if _, err := os.Stdout.Write(line); err != nil {
				return err
			}
		}
		info, err := os.Stat(folder + "/punctual.log")
		if err != nil {
			return err
		}
		for now := time.Now(); seen < int(info.Size())/size; seen++ {
			latest = max(latest, now.Sub(at[seen]))
		}
	}
	return os.WriteFile(folder+"/latest", []byte(latest.String()), 0o600)
}
