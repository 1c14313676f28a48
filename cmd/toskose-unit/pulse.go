package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	startPeriod = 5 * time.Second // is a container whose engine waits for its first answer
	answerDelay = 4 * time.Second // how long the answer of another takes
)

// pulse is health for an engine that asks again soon. A Swarm leads to a container
// once its health was checked for the first time, after one interval; but each check
// costs a process of the engine's, so later ones last.
func pulse(ctx context.Context, args []string, s system) int {
	code := ask(ctx, "pulse", "/healthz", args, s)
	if code == exitOK && age("/proc") >= startPeriod {
		time.Sleep(answerDelay)
	}
	return code
}

// age returns how long the first process has run; 0 where that cannot be told.
func age(proc string) time.Duration {
	stat, err := os.ReadFile(proc + "/1/stat")
	if err != nil {
		return 0
	}
	uptime, err := os.ReadFile(proc + "/uptime")
	if err != nil {
		return 0
	}
	const started, tick = 19, 10 * time.Millisecond // of the fields after the name; in ticks of USER_HZ, which is 100
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
