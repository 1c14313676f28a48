package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/wire"
)

var _ Unit = (*unit.Unit)(nil)

// fakeUnit answers what a test puts into it and notes what it was asked for.
type fakeUnit struct {
	mu    sync.Mutex
	calls []string

	state     wire.DaemonState
	unhealthy error
	unready   error
	err       error // of every method that has one
	log       string
	request   wire.ExecuteRequest
	execution wire.Execution
	known     bool // the id of the execution
	snapshot  wire.Snapshot
	document  wire.Document
	follow    unit.Follow
	journal   func(ctx context.Context, after string, wait time.Duration) (unit.JournalPage, error)
	panics    bool
	page      unit.LogPage
	merger    *unit.LogMerger
}

func newFake() *fakeUnit {
	return &fakeUnit{
		state:  wire.DaemonRunning,
		follow: func(context.Context, io.Writer) error { return nil },
	}
}

func (f *fakeUnit) note(format string, a ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, a...))
	if f.panics {
		panic("a mistake of ours")
	}
	return f.err
}

func (f *fakeUnit) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *fakeUnit) statuses(format string, a ...any) ([]wire.ProcessStatus, error) {
	return []wire.ProcessStatus{{Name: "start", Group: "api", Status: wire.Success, Description: "OK"}}, f.note(format, a...)
}

func (f *fakeUnit) Identification() string  { return "supervisor" }
func (f *fakeUnit) PID() int                { return 1 }
func (f *fakeUnit) State() wire.DaemonState { return f.state }
func (f *fakeUnit) Healthy() error          { return f.unhealthy }
func (f *fakeUnit) Ready() error            { return f.unready }
func (f *fakeUnit) Live() error             { return f.unready }

func (f *fakeUnit) ReadLog(offset, length int64) (string, error) {
	return f.log, f.note("read %d %d", offset, length)
}
func (f *fakeUnit) ClearLog() error                 { return f.note("clear") }
func (f *fakeUnit) FollowLog() (unit.Follow, error) { return f.follow, f.note("follow") }
func (f *fakeUnit) Shutdown() error                 { return f.note("shutdown") }
func (f *fakeUnit) Restart() error                  { return f.note("restart") }

func (f *fakeUnit) SendRemoteCommEvent(kind, data string) error {
	return f.note("event %s %s", kind, data)
}

func (f *fakeUnit) ProcessInfo(_ context.Context, name string) (wire.ProcessInfo, error) {
	return wire.ProcessInfo{Name: "start", Group: "api", State: wire.Running, StateName: "RUNNING", PID: 12}, f.note("info %s", name)
}

func (f *fakeUnit) AllProcessInfo(context.Context) ([]wire.ProcessInfo, error) {
	return []wire.ProcessInfo{{Name: "start", Group: "api", State: wire.Running, StateName: "RUNNING", PID: 12, Description: "pid 12, uptime 0:00:03"}}, f.note("all info")
}

func (f *fakeUnit) AllConfigInfo() ([]wire.ConfigInfo, error) {
	return []wire.ConfigInfo{{Name: "start", Group: "api", InUse: true, Autorestart: "unexpected", UID: "none"}}, f.note("config")
}

func (f *fakeUnit) SendProcessStdin(_ context.Context, name, chars string) error {
	return f.note("stdin %s %q", name, chars)
}

func (f *fakeUnit) ReloadConfig(context.Context) (unit.Differences, error) {
	return unit.Differences{Added: []string{"a"}, Changed: []string{}, Removed: []string{"b", "c"}}, f.note("reload")
}

func (f *fakeUnit) AddProcessGroup(_ context.Context, name string) error {
	return f.note("add %s", name)
}

func (f *fakeUnit) RemoveProcessGroup(_ context.Context, name string) error {
	return f.note("remove %s", name)
}

func (f *fakeUnit) StartProcess(_ context.Context, name string, wait bool) ([]wire.ProcessStatus, error) {
	return f.statuses("start %s %v", name, wait)
}

func (f *fakeUnit) StartProcessGroup(_ context.Context, name string, wait bool) ([]wire.ProcessStatus, error) {
	return f.statuses("start group %s %v", name, wait)
}

func (f *fakeUnit) StartAllProcesses(_ context.Context, wait bool) ([]wire.ProcessStatus, error) {
	return f.statuses("start all %v", wait)
}

func (f *fakeUnit) StopProcess(_ context.Context, name string, wait bool) ([]wire.ProcessStatus, error) {
	return f.statuses("stop %s %v", name, wait)
}

func (f *fakeUnit) StopProcessGroup(_ context.Context, name string, wait bool) ([]wire.ProcessStatus, error) {
	return f.statuses("stop group %s %v", name, wait)
}

func (f *fakeUnit) StopAllProcesses(_ context.Context, wait bool) ([]wire.ProcessStatus, error) {
	return f.statuses("stop all %v", wait)
}

func (f *fakeUnit) SignalProcess(_ context.Context, name, signal string) ([]wire.ProcessStatus, error) {
	return f.statuses("signal %s %s", name, signal)
}

func (f *fakeUnit) SignalProcessGroup(_ context.Context, name, signal string) ([]wire.ProcessStatus, error) {
	return f.statuses("signal group %s %s", name, signal)
}

func (f *fakeUnit) SignalAllProcesses(_ context.Context, signal string) ([]wire.ProcessStatus, error) {
	return f.statuses("signal all %s", signal)
}

func (f *fakeUnit) ReadProcessLog(name string, stream wire.Stream, offset, length int64) (string, error) {
	return f.log, f.note("read %s %s %d %d", name, stream, offset, length)
}

func (f *fakeUnit) TailProcessLog(name string, stream wire.Stream, offset, length int64) (wire.LogTail, error) {
	return wire.LogTail{Data: f.log, Offset: 1 << 32, Overflow: true}, f.note("tail %s %s %d %d", name, stream, offset, length)
}

func (f *fakeUnit) FollowProcessLog(name string, stream wire.Stream) (unit.Follow, error) {
	return f.follow, f.note("follow %s %s", name, stream)
}

func (f *fakeUnit) ProcessLogAfter(_ context.Context, name string, stream wire.Stream, after string, wait time.Duration) (unit.LogPage, error) {
	return f.page, f.note("page %s %s %q %v", name, stream, after, wait)
}

func (f *fakeUnit) LogAfter(_ context.Context, after string, wait time.Duration) (unit.LogPage, error) {
	return f.page, f.note("page %q %v", after, wait)
}

func (f *fakeUnit) WriteMetrics(w io.Writer) error {
	_, err := io.WriteString(w, "# EOF\n")
	return errors.Join(err, f.note("metrics"))
}

func (f *fakeUnit) ClearProcessLogs(name string) error { return f.note("clear %s", name) }

func (f *fakeUnit) ClearAllProcessLogs() ([]wire.ProcessStatus, error) {
	return f.statuses("clear all")
}

func (f *fakeUnit) Execute(_ context.Context, request wire.ExecuteRequest) (wire.Execution, bool, error) {
	f.request = request
	return f.execution, !f.known, f.note("execute %s", request.ID)
}

func (f *fakeUnit) Execution(_ context.Context, id string, wait time.Duration) (wire.Execution, error) {
	return f.execution, f.note("execution %s %v", id, wait)
}

func (f *fakeUnit) Cancel(_ context.Context, id string) (wire.Execution, error) {
	return f.execution, f.note("cancel %s", id)
}

func (f *fakeUnit) Components(processes bool) (wire.Snapshot, error) {
	return f.snapshot, f.note("components %v", processes)
}

func (f *fakeUnit) Identity() wire.Identity { return f.snapshot.Identity }

func (f *fakeUnit) Document(name string) (wire.Document, error) {
	return f.document, f.note("document %s", name)
}

func (f *fakeUnit) PutDocument(name string, d wire.Document) (bool, error) {
	f.document = d
	return !f.known, f.note("put %s %s %d", name, d.Revision, len(d.Content))
}

func (f *fakeUnit) Journal(ctx context.Context, after string, wait time.Duration) (unit.JournalPage, error) {
	if f.journal != nil {
		return f.journal(ctx, after, wait)
	}
	return unit.JournalPage{Instance: "i"}, f.note("journal %q %v", after, wait)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func handlerOf(f *fakeUnit) http.Handler { return New(Options{Unit: f, Logger: quiet()}) }

// post sends a body to /RPC2 and returns the answer.
func post(t *testing.T, h http.Handler, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/RPC2", strings.NewReader(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// methodCall writes a call whose parameters are the values given as XML.
func methodCall(method string, values ...string) string {
	var b strings.Builder
	b.WriteString("<?xml version='1.0'?>\n<methodCall>\n<methodName>" + method + "</methodName>\n<params>\n")
	for _, v := range values {
		b.WriteString("<param>\n<value>" + v + "</value>\n</param>\n")
	}
	b.WriteString("</params>\n</methodCall>\n")
	return b.String()
}

// answered takes the frame off an answer: `<value>…</value>` or `<fault>…</fault>`.
func answered(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	text := w.Body.String()
	text = strings.TrimPrefix(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<methodResponse>")
	text = strings.TrimSuffix(text, "</methodResponse>\n")
	text = strings.TrimPrefix(text, "<params><param>")
	return strings.TrimSuffix(text, "</param></params>")
}

func faultXML(code int, text string) string {
	return fmt.Sprintf("<fault><value><struct><member><name>faultCode</name><value><int>%d</int></value></member>"+
		"<member><name>faultString</name><value><string>%s</string></value></member></struct></value></fault>", code, text)
}

func (f *fakeUnit) MergeLogs(wire.LogsRequest) (*unit.LogMerger, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.merger, f.err
}
