package testunit

import (
	"encoding/json"
	"fmt"

	"github.com/toskose/toskose/spec/protocol"
)

// server is the start of each unit's configuration.
const server = `[supervisord]
nodaemon=true
logfile=%[1]s/unit.log
pidfile=%[1]s/unit.pid
toskose_journal=%[1]s/journal
toskose_documents=%[1]s/documents

[inet_http_server]
port=127.0.0.1:%[2]d
username=admin
toskose_auth=required
`

const api = server + `
[program:api.configure]
process_name=configure
command=/bin/sh -c 'echo configured; echo on port $INPUT_PORT >&2; exit $INPUT_CODE'
directory=%[1]s
autostart=false
autorestart=false
startsecs=1
startretries=0
stdout_logfile=%[1]s/configure.stdout.log
stderr_logfile=%[1]s/configure.stderr.log
toskose_component=api
toskose_interface=Standard
toskose_operation=run
toskose_inputs={"PORT":"80","CODE":"0"}

[program:api.start]
process_name=start
command=/bin/sh -c 'echo up; exec sleep 1000'
directory=%[1]s
autostart=false
autorestart=false
startsecs=0
startretries=0
stdout_logfile=%[1]s/start.stdout.log
stderr_logfile=%[1]s/start.stderr.log
toskose_component=api
toskose_interface=Standard
toskose_operation=start

[group:api]
programs=api.configure,api.start

[toskose:component:api]
toskose_protocol=%[3]s
`

// API returns the configuration of a unit with one component, api, whose operations print
// messages: see Lifecycle. configure has the inputs PORT and CODE, its exit code.
func API(folder string, port uint16) []byte {
	return configuration(api, folder, port, Lifecycle())
}

func configuration(format, folder string, port uint16, p protocol.Protocol) []byte {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // a protocol can be encoded
	}
	return fmt.Appendf(nil, format, folder, port, text)
}

// Lifecycle is the protocol of api. Its stop has no script.
func Lifecycle() protocol.Protocol {
	step := func(source, operation, target string) protocol.Transition {
		return protocol.Transition{Source: source, Target: target, Operation: protocol.Operation{Interface: "Standard", Name: operation}}
	}
	return protocol.Protocol{
		Initial: "created", States: []protocol.State{{Name: "configured"}, {Name: "created"}, {Name: "started", Offers: []string{protocol.Endpoint}}},
		Transitions: []protocol.Transition{
			step("created", "configure", "configured"), step("configured", "start", "started"), step("started", "stop", "configured"),
		},
	}
}

const task = server + `
[program:load.run]
process_name=run
command=/bin/sh -c 'echo part $INPUT_TASK_INDEX of $INPUT_TASK_COMPLETIONS; echo x >> tries-$INPUT_TASK_INDEX; [ $INPUT_TASK_INDEX != 1 ] || [ $(wc -l < tries-1) -gt 2 ] || exit 9'
directory=%[1]s
autostart=false
autorestart=false
startsecs=0
startretries=0
stdout_logfile=%[1]s/run.stdout.log
stderr_logfile=%[1]s/run.stderr.log
toskose_component=load
toskose_interface=Task
toskose_operation=run
toskose_inputs={"TASK_INDEX":"0","TASK_COMPLETIONS":"3"}

[group:load]
programs=load.run

[toskose:component:load]
toskose_protocol=%[3]s
`

// Task returns the configuration of a unit with one component, the task load with three indexes;
// index 1 exits with code 9 twice before it succeeds.
func Task(folder string, port uint16) []byte {
	return configuration(task, folder, port, protocol.Task())
}
