package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	startPeriod = 5 * time.Second // a container whose engine waits for the first result
	answerDelay = 4 * time.Second // delay of later results
)

// pulse is health for an engine that checks frequently. A Swarm routes to a container only after
// its first successful check, one interval after the start, so the interval must be short; but
// each check costs a process, so later checks are delayed.
func pulse(ctx context.Context, args []string, s system) int {
	code := ask(ctx, "pulse", "/healthz", args, s)
	if code == exitOK && age("/proc") >= startPeriod {
		time.Sleep(answerDelay)
	}
	return code
}

// age returns how long the first process has been running; 0 if unknown.
func age(proc string) time.Duration {
	stat, err := os.ReadFile(proc + "/1/stat")
	if err != nil {
		return 0
	}
	uptime, err := os.ReadFile(proc + "/uptime")
	if err != nil {
		return 0
	}
	const started, tick = 19, 10 * time.Millisecond // index among the fields after the name; a tick of USER_HZ, which is 100
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	now, _, _ := strings.Cut(string(uptime), " ")
	up, err := strconv.ParseFloat(now, 64)
	if err != nil || len(fields) <= started {
		return 0
	}
	began, err := strconv.ParseInt(fields[started], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(up*float64(time.Second)) - time.Duration(began)*tick
}
