package rpc

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// logFile is a log with an index of times.
func logFile(t *testing.T, lines ...string) *logs.File {
	t.Helper()
	f := logs.New(filepath.Join(t.TempDir(), "log"), logs.Options{Now: time.Now})
	t.Cleanup(func() { f.Close() })
	for _, line := range lines {
		if _, err := f.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func merge(t *testing.T, f *fakeUnit, files ...*logs.File) {
	t.Helper()
	var err error
	if f.merger, err = logs.Merge(files, make([]string, len(files)), logs.Begin{}); err != nil {
		t.Fatal(err)
	}
}

// chunk reads the next chunk, as "LOG:TEXT", or "live".
func chunk(r *bufio.Reader) (string, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return "", err
	}
	var c wire.LogChunk
	if err := json.Unmarshal(line, &c); err != nil {
		return "", fmt.Errorf("%q: %w", line, err)
	}
	if c.Live {
		return "live", nil
	}
	data := make([]byte, c.Bytes)
	_, err = io.ReadFull(r, data)
	return fmt.Sprintf("%d:%s", c.Log, data), err
}

func TestSeveralLogsAreOneAnswer(t *testing.T) {
	t.Parallel()
	f := newFake()
	merge(t, f, logFile(t, "a\xff\n"), logFile(t, "b\n{\n"))
	r := request(t, http.MethodPost, "/logs", `{"logs": [{"process": "api:start", "stream": "stdout"}]}`)
	r.Header.Set("Content-Type", "application/json")
	w := serve(handlerOf(f), r)
	body, got := bufio.NewReader(w.Body), []string{}
	for {
		c, err := chunk(body)
		if err != nil {
			break
		}
		got = append(got, c)
	}
	if w.Code != http.StatusOK || !slices.Equal(got, []string{"0:a\xff\n", "1:b\n{\n", "live"}) {
		t.Errorf("%d %q", w.Code, got)
	}
}

func TestARequestForLogsThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		"": http.StatusBadRequest, "[]": http.StatusBadRequest, `{"sins": []}`: http.StatusBadRequest,
		`{"logs": [` + strings.Repeat(`{},`, maxLogs) + `{}]}`: http.StatusBadRequest,
		`{"logs": []}`: http.StatusPreconditionFailed,
	} {
		f := newFake()
		f.err = wire.NewFault(wire.OtherInstance, "this is another")
		r := request(t, http.MethodPost, "/logs", body)
		r.Header.Set("Content-Type", "application/json")
		if w := serve(handlerOf(f), r); w.Code != want {
			t.Errorf("%.40s: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestLogsAreFollowedAsTailsUntilTheyAreClosed(t *testing.T) {
	t.Parallel()
	f := newFake()
	log := logFile(t, "one\n")
	address, _ := running(t, f, Limits{Followers: 1})
	const body = `{"follow": true, "logs": []}`
	follow := fmt.Sprintf("POST /logs HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	merge(t, f, log)
	_, r := dialed(t, address, follow)
	answer, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	chunks := bufio.NewReader(answer.Body)
	wants := func(want string) {
		t.Helper()
		if got, err := chunk(chunks); got != want || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
	wants("0:one\n")
	wants("live")
	merge(t, f, log)
	wantStatus(t, address, follow, http.StatusServiceUnavailable)
	if _, err := log.Write([]byte("two\n")); err != nil {
		t.Fatal(err)
	}
	wants("0:two\n")
	log.Close()
	if got, err := chunk(chunks); err == nil {
		t.Errorf("of a log that is closed: %q", got)
	}
}
