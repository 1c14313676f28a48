package rpc

import (
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/unit/wire"
)

const documentedConf = `[supervisord]
nodaemon=true
logfile=%[1]s/unit.log
toskose_journal=%[1]s/journal
toskose_documents=%[1]s
[inet_http_server]
port=127.0.0.1:%[2]s
username=u
password=p
[program:api.configure]
process_name=configure
command=/bin/sh -c 'echo listening on $INPUT_PORT'
autostart=false
autorestart=false
stdout_logfile=%[1]s/configure.log
toskose_component=api
toskose_interface=Standard
toskose_operation=run
toskose_inputs={"PORT":"80"}
[program:api.start]
process_name=start
command=/bin/sleep 1000
autostart=false
autorestart=false
toskose_component=api
toskose_interface=Standard
toskose_operation=start
[group:api]
programs=api.configure,api.start
[toskose:component:api]
toskose_protocol={"initial":"created","states":[{"name":"configured"},{"name":"created"},{"name":"started"}],"transitions":[{"source":"created","target":"configured","interface":"Standard","operation":"configure"},{"source":"configured","target":"started","interface":"Standard","operation":"start"}]}
`

func TestTheDocumentedLinesDoWhatTheySay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs a unit; not with -short")
	}
	tool(t, "curl", "Debian package curl")
	port, _ := runUnit(t, documentedConf)
	ran := func(line string) string {
		t.Helper()
		script := `curl() { command curl -sS --fail-with-body --max-time 60 "$@"; }` + "\n" + line
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		cmd.Env = append(os.Environ(), "UNIT=http://127.0.0.1:"+port, "LOGIN=u:p", "NO_PROXY=*")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	refusal := docs.Shown(t, "docs/unit-api.md", `{"title": "Conflict"`)
	samples := map[int]string{ // by the lines that they are the answers to
		1: docs.Shown(t, "docs/unit-api.md", `{"id": "first"`), 3: docs.Shown(t, "docs/unit-api.md", `{"instance": `), 7: docs.Shown(t, "docs/unit-api.md", `{"seq": 4, `),
	}
	refused := `curl -u $LOGIN --no-fail-with-body --json '{"component": "api", "operation": "start"}' $UNIT/executions`
	if got := ran(refused); !slices.Equal(docs.Keys(t, got), docs.Keys(t, refusal)) || !strings.Contains(got, `"NOT_ALLOWED"`) {
		t.Errorf("a refusal is\n%snot\n%s", got, refusal)
	}
	var lines []string
	for _, b := range docs.Of(t, docs.UnitCalls) {
		lines = append(lines, strings.Split(strings.TrimSpace(b.Text), "\n")...)
	}
	for i, want := range []string{
		`"outcome":"running"`, `"stdout":"listening on 8080\\n"`, `"outcome":"succeeded"`, `"state":"configured"`, `"unclaimed":\[`,
		`"booted":`, `(?s)Toskose-Cursor: .*"kind":"boot"`, `"kind":"hello"`, `"revision":"1:hTz5"`, `(?s)Toskose-Revision: 1:hTz5.*{"up": true}`,
		`"revision":"1:hTz5"`, `"status":"ready"`, `(?s)Toskose-Cursor: .*listening on 8080\n`, `Toskose-Cursor: `,
		`(?s){"log":0,"at":"[^"]*","time":"[^"]*","bytes":18}\nlistening on 8080\n{"log":0,"live":true}\n`, `# EOF`, `"status":"ok"`,
	} {
		if i >= len(lines) {
			t.Fatalf("there are %d lines", len(lines))
		}
		got := ran(lines[i])
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s\nanswers %s\nwant    %s", lines[i], got, want)
		}
		if sample, ok := samples[i]; ok && !slices.Equal(docs.Keys(t, got), docs.Keys(t, sample)) {
			t.Errorf("the sample is\n%s, the answer\n%s", sample, got)
		}
	}
	if len(lines) != 17 {
		t.Errorf("there are %d lines, some of which nobody has run", len(lines))
	}
}

func TestTheDocumentedCodesAreTheAnswered(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/unit-api.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]int{}
	for _, m := range regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `([A-Z_]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		documented[m[2]], _ = strconv.Atoi(m[1])
	}
	for name, status := range documented {
		err := wire.NewFault(wire.FaultNamed(name), "x")
		if wire.FaultNamed(name) == 0 {
			err = statusErrorf(status, "x")
		}
		if p := problemOf(err); p.Status != status || p.Code != name {
			t.Errorf("%s is documented with %d, but is %+v", name, status, p)
		}
	}
	for code := range faultStatus {
		if _, ok := documented[code.String()]; !ok {
			t.Errorf("%s is not documented", code)
		}
	}
	for code := wire.NotAllowed; code <= wire.NoStorage; code++ {
		if documented[code.String()] < http.StatusBadRequest {
			t.Errorf("%s is not documented", code)
		}
	}
}
