package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// outputOf gives a container whose stdout is a pipe, and that pipe. Nobody
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

func TestAContainersOutputThatNobodyReadsHoldsNoComponentUp(t *testing.T) {
	t.Parallel()
	c, stdout := outputOf(t, component("api", map[string]string{
		"create": `i=0; while [ $i -lt 40000 ]; do echo "$i 0123456789012345678901234567890123456789012345678901234567890123456789"; i=$((i+1)); done`,
	}, "toskose_output=prefixed"))
	outcome(t, c.run("api", "create"), wire.OutcomeSucceeded)
	dropped := c.sample("toskose_program_output_dropped_bytes_total", "stream", "stdout")
	if dropped == 0 {
		t.Error("nothing is counted as dropped")
	}
	// The reader comes back: what waits arrives in order, and what is missing is said:
	// once, or twice where the first was missed before anything was taken out of the queue.
	lines := bufio.NewScanner(stdout)
	next, read, gaps := 0, 0, 0
	for next < 40000 && lines.Scan() {
		text, ours := strings.CutPrefix(lines.Text(), "toskose-unit | ")
		if ours {
			number, _, _ := strings.Cut(text, " ")
			missed, _ := strconv.Atoi(number)
			next, gaps = next+missed, gaps+1
			continue
		}
		if !strings.HasPrefix(text, fmt.Sprintf("api:create | %d ", next)) {
			t.Fatalf("line %d is %q", next, text)
		}
		next, read = next+1, read+1
	}
	if next != 40000 || read == 0 || gaps == 0 {
		t.Errorf("%d lines read or missed, %d of them read, in %d gaps", next, read, gaps)
	}
	said := func() int { return strings.Count(c.read("unit.log"), "not read fast enough") }
	c.eventually("every gap is in the log", func() bool { return said() >= gaps }) // which is written beside the output
	if n := said(); n != gaps {
		t.Errorf("of %d gaps it is said %d times that lines are dropped", gaps, n)
	}
	c.terminate()
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
