package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	checked    = 100 // programs
	checkEvery = 100 * time.Millisecond
)

// livenessChecks measures the processor time of 1,000 liveness checks per second, in one second. supervisord does not
// support liveness checks.
func livenessChecks(check string) func(contender, string) (float64, error) {
	return func(c contender, dir string) (float64, error) {
		if c.flags != nil || !c.speaks {
			return 0, errNotApplicable
		}
		var listen net.ListenConfig
		listener, err := listen.Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		server := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
		defer server.Close()
		go func() { _ = server.Serve(listener) }()
		sections := program("p", "sleep 1000", fmt.Sprintf("numprocs=%d", checked), "process_name=%(program_name)s_%(process_num)d",
			"stdout_logfile=NONE", "stderr_logfile=NONE",
			fmt.Sprintf(check, listener.Addr()), fmt.Sprintf("toskose_live_interval=%g", checkEvery.Seconds()))
		return with(c, dir, sections, func(p *process) (float64, error) {
			if _, err := p.call("supervisor.startAllProcesses", true); err != nil {
				return 0, err
			}
			if err := p.awaitState(fmt.Sprintf("p:p_%d", checked-1), "RUNNING"); err != nil {
				return 0, err
			}
			time.Sleep(quiet)
			before, err := p.processorTime()
			if err != nil {
				return 0, err
			}
			const measured = 5
			time.Sleep(measured * time.Second)
			after, err := p.processorTime()
			return (after - before).Seconds() / measured, err
		})
	}
}
