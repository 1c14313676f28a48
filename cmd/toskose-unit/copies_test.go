package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/wire"
)

// outputOf returns a container whose stdout is a pipe, and that pipe. Nobody
// reads it yet.
func outputOf(t *testing.T, sections string) (*container, *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	c := newContainer(t, sections)
	c.stdout = writer
	c.boot()
	writer.Close()
	return c, reader
}

func TestTheContainersOutputHasACopyOfEachLine(t *testing.T) {
	t.Parallel()
	c, stdout := outputOf(t, component("api", map[string]string{
		"create": `echo one; printf "two\n\377three"`,
	}, "toskose_output=prefixed")+component("gui", map[string]string{
		"create": `printf "ok\nbad \377\nno end"; echo err >&2`,
	}, "toskose_output=json")+component("mute", map[string]string{"create": "echo nothing"}, ""))
	for _, name := range []string{"api", "gui", "mute"} {
		outcome(t, c.run(name, "create"), wire.OutcomeSucceeded)
	}
	c.terminate()
	text, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	prefixed, objects, _ := strings.Cut(string(text), "{")
	if prefixed != "api:create | one\napi:create | two\napi:create | \xffthree\n" {
		t.Errorf("prefixed: %q", prefixed)
	}
	var lines []string
	for line := range strings.Lines("{" + objects) {
		var r struct {
			Time                         time.Time
			Component, Operation, Stream string
			Line                         string
			Base64                       []byte
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Time.IsZero() || r.Component != "gui" || r.Operation != "create" || r.Stream != "stdout" {
			t.Errorf("%s", line)
		}
		lines = append(lines, r.Line+string(r.Base64))
	}
	if fmt.Sprintf("%q", lines) != `["ok" "bad \xff" "no end"]` {
		t.Errorf("JSON: %q", lines)
	}
	if !strings.Contains(c.stderr.String(), `"operation":"create","stream":"stderr","line":"err"}`) {
		t.Errorf("stderr lacks its line:\n%s", c.stderr)
	}
}

func TestAContainersOutputThatNobodyReadsHoldsWhoPrintsAndNobodyElse(t *testing.T) {
	t.Parallel()
	const lines = 40_000
	c, stdout := outputOf(t, component("api", map[string]string{
		"create": fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo "$i 0123456789012345678901234567890123456789012345678901234567890123456789"; i=$((i+1)); done`, lines),
	}, "toskose_output=prefixed\nstdout_logfile=DIR/api.log")+component("gui", map[string]string{
		"create": "echo gui has run; echo and said so >&2",
	}, "toskose_output=prefixed\nstdout_logfile=DIR/gui.log"))
	x, err := c.execute("api", "create", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.until("unit.log", "blocked: its output is not being read")
	// The log file has what was read, another component runs to its end, and the
	// unit answers and logs.
	if text := c.read("api.log"); len(text) < 1<<20 || !strings.HasPrefix(text, "0 0123") {
		t.Errorf("the log of a held program has %d bytes", len(text))
	}
	outcome(t, c.run("gui", "create"), wire.OutcomeSucceeded)
	if text := c.read("gui.log"); text != "gui has run\n" {
		t.Errorf("the other log has %q", text)
	}
	c.until("unit.log", "operation=create pid=")
	if dropped := c.sample("toskose_program_output_dropped_bytes_total", "component", "api", "stream", "stdout"); dropped != 0 {
		t.Errorf("%v bytes were dropped", dropped)
	}
	text := bufio.NewScanner(stdout)
	for next := 0; next < lines && text.Scan(); {
		if text.Text() == "gui:create | gui has run" {
			continue
		}
		if !strings.HasPrefix(text.Text(), fmt.Sprintf("api:create | %d ", next)) {
			t.Fatalf("line %d is %q", next, text.Text())
		}
		next++
	}
	outcome(t, c.end(x.ID), wire.OutcomeSucceeded)
	c.terminate()
}

func TestALogThatIsAPipeNobodyReadsHoldsWhoPrintsAndNobodyElse(t *testing.T) {
	t.Parallel()
	const lines = 40_000
	c := newContainer(t, fmt.Sprintf(`[program:printer]
command=/bin/sh -c 'i=0; while [ $i -lt %d ]; do echo "$i 0123456789012345678901234567890123456789012345678901234567890123456789"; i=$((i+1)); done'
stdout_logfile=DIR/pipe
startsecs=0
autorestart=false
`, lines)+plain("other", "/bin/sh -c 'echo printed; exec sleep 1000'", "stdout_logfile=DIR/other.log"))
	if err := unix.Mkfifo(filepath.Join(c.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.launch()
	c.until("unit.log", `blocked: its output is not being read" process=printer`)
	if err := c.call(nil, "supervisor.startProcess", "other"); err != nil {
		t.Fatal(err)
	}
	c.until("other.log", "printed")
	pipe, err := os.Open(filepath.Join(c.dir, "pipe"))
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	text := bufio.NewScanner(pipe)
	for next := range lines {
		if !text.Scan() || !strings.HasPrefix(text.Text(), fmt.Sprintf("%d ", next)) {
			t.Fatalf("line %d is %q, %v", next, text.Text(), text.Err())
		}
	}
	c.inState("printer", wire.Exited)
	c.terminate()
}

func TestAShutdownDoesNotWaitLongForAReader(t *testing.T) {
	t.Parallel()
	c, stdout := outputOf(t, `[program:flood]
command=/bin/sh -c 'i=0; while :; do echo "line $i"; i=$((i+1)); done'
stdout_logfile=/dev/stdout
stdout_logfile_maxbytes=0
`)
	c.until("unit.log", "blocked: its output is not being read")
	if took := c.terminate(); took > patience/2 {
		t.Errorf("the shutdown took %s", took)
	}
	text, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.SplitAfter(string(text), "\n") {
		if strings.HasSuffix(line, "\n") && line != fmt.Sprintf("line %d\n", i) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
}

// page asks for a piece of a log.
func (c *container) page(path, cursor, wait string) (data, next string, gap bool) {
	c.t.Helper()
	response, err := c.request(http.MethodGet, path+"?after="+url.QueryEscape(cursor)+"&wait="+wait, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %s %v %s", path, response.Status, err, body)
	}
	return string(body), response.Header.Get("Toskose-Cursor"), response.Header.Get("Toskose-Gap") == "true"
}

func TestFollowingGoesOnAfterAGapThroughRotations(t *testing.T) {
	t.Parallel()
	const lines = 2000
	c := newContainer(t, component("api", map[string]string{
		"create": fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo "line $i"; i=$((i+1)); done`, lines),
	}, "stdout_logfile=DIR/api.log\nstdout_logfile_maxbytes=1KB\nstdout_logfile_backups=100")).boot()
	x, err := c.execute("api", "create", nil)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i := range lines {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	var got strings.Builder
	cursor := ""
	for i := 0; got.Len() < want.Len(); i++ {
		data, next, gap := c.page("/log/api:create/stdout", cursor, "50s")
		if gap || data == "" {
			t.Fatalf("after %d bytes: %q, gap %t", got.Len(), data, gap)
		}
		if i%3 == 0 {
			continue // the connection broke, and the cursor was not kept
		}
		got.WriteString(data)
		cursor = next
	}
	if got.String() != want.String() {
		t.Error("what was read is not what was written")
	}
	outcome(t, c.end(x.ID), wire.OutcomeSucceeded)
	if err := c.call(nil, "supervisor.clearProcessLogs", "api:create"); err != nil {
		t.Fatal(err)
	}
	if data, _, gap := c.page("/log/api:create/stdout", cursor, "0s"); data != "" || gap {
		t.Errorf("after clear, which took nothing that was not read: %q, gap %t", data, gap)
	}
	if _, end, _ := c.page("/mainlog", "end", "0s"); end == "" {
		t.Error("the unit's log has no end")
	}
}
