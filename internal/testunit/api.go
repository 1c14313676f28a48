package testunit

import (
	"encoding/json"
	"fmt"

	"github.com/toskose/toskose/tosca/protocol"
)

const api = `[supervisord]
nodaemon=true
logfile=%[1]s/unit.log
pidfile=%[1]s/unit.pid
toskose_journal=%[1]s/journal
toskose_documents=%[1]s/documents

[inet_http_server]
port=127.0.0.1:%[2]d
username=admin
toskose_auth=required

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

// API is the configuration of a unit with one component, api, whose operations say what
// they do: see Lifecycle. configure has the inputs PORT and CODE, which it exits with.
func API(folder string, port uint16) []byte {
	text, err := json.Marshal(Lifecycle())
	if err != nil {
		panic(err) // a constant
	}
	return fmt.Appendf(nil, api, folder, port, text)
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
