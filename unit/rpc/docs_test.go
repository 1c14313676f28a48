package rpc

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

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

// blocks returns the code of a language in the documentation.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/unit-api.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(text, -1) {
		found = append(found, string(m[1]))
	}
	return found
}

// keys returns the names of all members of a JSON value, with their paths.
func keys(t *testing.T, text string) []string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	found := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				found[path+"."+name] = true
				walk(path+"."+name, member)
			}
		case []any:
			for _, item := range v {
				walk(path, item)
			}
		}
	}
	walk("", value)
	return slices.Sorted(maps.Keys(found))
}

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
	samples := blocks(t, "json")
	const execution, components, hello, refusal = 0, 1, 2, 3
	refused := `curl -u $LOGIN --no-fail-with-body --json '{"component": "api", "operation": "start"}' $UNIT/executions`
	if got := ran(refused); !slices.Equal(keys(t, got), keys(t, samples[refusal])) || !strings.Contains(got, `"NOT_ALLOWED"`) {
		t.Errorf("a refusal is\n%snot\n%s", got, samples[refusal])
	}
	lines := strings.Split(strings.TrimSpace(strings.Join(blocks(t, "sh"), "")), "\n")
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
		if sample, ok := map[int]int{1: execution, 3: components, 7: hello}[i]; ok && !slices.Equal(keys(t, got), keys(t, samples[sample])) {
			t.Errorf("the sample is\n%s, the answer\n%s", samples[sample], got)
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
