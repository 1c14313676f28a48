package skew

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/documents"
	"github.com/toskose/toskose/unit/journal"
	"github.com/toskose/toskose/unit/wire"
)

// TestTheConfigurationOfAUnitIsRead: the image has it.
func TestTheConfigurationOfAUnitIsRead(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs(contracts)
	if err != nil {
		t.Fatal(err)
	}
	conf, warnings, err := config.LoadFrom("/", filepath.Join(dir, "supervisord.conf"), map[string]string{
		"SUPERVISORD_PASSWORD": "any", "SUPERVISORD_LOG_LEVEL": "INFO", "SUPERVISORD_PORT": "9001", "SUPERVISORD_USER": "admin",
	}, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v", err, warnings)
	}
	start, ok := conf.Program("api", "start")
	if !ok {
		t.Fatal("api has no start")
	}
	if start.Component != "api" || start.Operation.String() != "Standard.start" || start.Kind != protocol.KindStart || start.Inputs["HOME"] == "" || !strings.HasSuffix(start.Command, "start.sh") {
		t.Errorf("the start of api is %+v", start)
	}
	configure, _ := conf.Program("api", "configure")
	if configure.Kind != protocol.KindRun || configure.Inputs["PORT"] != "8081" || configure.Inputs["STORE_HOST"] != "store" {
		t.Errorf("its configure is %+v", configure)
	}
	at := slices.IndexFunc(conf.Components, func(c config.Component) bool { return c.Name == "api" })
	if at < 0 || conf.Components[at].Protocol == nil {
		t.Fatalf("the components are %+v", conf.Components)
	}
	of := conf.Components[at].Protocol
	i := slices.IndexFunc(of.Transitions, func(tr protocol.Transition) bool { return tr.Name == "start" })
	if of.Initial != "deleted" || len(of.States) != 4 || i < 0 || of.Transitions[i].Source != "configured" || of.Transitions[i].Target != "running" {
		t.Errorf("its protocol is %+v", of)
	}
	if conf.Supervisord.Journal != "/toskose/state/journal" || len(conf.Inet) != 1 || !conf.Inet[0].AuthRequired {
		t.Errorf("the journal is in %q, and the API is %+v", conf.Supervisord.Journal, conf.Inet)
	}
}

// TestAJournalIsGoneOnWith: a unit finds it on a disk, and the manager reads it.
func TestAJournalIsGoneOnWith(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(contracts, "journal"))); err != nil {
		t.Fatal(err)
	}
	j, replay, err := journal.Open(dir, journal.Options{})
	if err != nil || len(replay.Notes) > 0 {
		t.Fatalf("%v, %q", err, replay.Notes)
	}
	defer j.Close()
	if instance := strings.TrimSpace(string(recorded(t, "journal", "instance"))); j.Instance() != instance {
		t.Errorf("its instance is %s, not %s", j.Instance(), instance)
	}
	stands(t, replay.Entries)
	files, err := filepath.Glob(filepath.Join(contracts, "journal", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		understood[wire.Entry](t, line, "crc") // of the line in the file
	}
	e, err := j.Append(wire.Entry{Kind: wire.EntryBoot})
	if last := replay.Entries[len(replay.Entries)-1]; err != nil || e.Seq != last.Seq+1 {
		t.Errorf("after entry %d there is %d, %v", last.Seq, e.Seq, err)
	}
}

// stands expects what the entries of Thinking's backend add up to.
func stands(t *testing.T, entries []wire.Entry) {
	t.Helper()
	now, ran := map[string]wire.Checkpointed{}, []string{}
	for _, e := range entries {
		for _, c := range e.Components {
			now[c.Component] = c
		}
		if e.Component != "" {
			now[e.Component] = now[e.Component].After(e, 16)
		}
		if x := e.Execution; e.Kind == wire.EntryExit && x != nil && x.Component == "api" {
			ran = append(ran, x.Operation)
			if x.Outcome != wire.OutcomeSucceeded || x.By != "goal" || x.Started.IsZero() || x.Ended.Before(x.Started) {
				t.Errorf("it has run %+v", x)
			}
		}
	}
	api := now["api"]
	if api.State != "running" || api.StartedFrom != "configured" || api.Since.IsZero() || len(api.Recent) != 3 || !goal.Ours(api.Recent[2].ID) {
		t.Errorf("api is %+v", api)
	}
	if !slices.Equal(ran, []string{"create", "configure", "start"}) {
		t.Errorf("%q were run", ran)
	}
}

// TestDocumentsAreReadAgain: the goal outlives containers, managers and units.
func TestDocumentsAreReadAgain(t *testing.T) {
	t.Parallel()
	folder := documents.Folder{Path: filepath.Join(contracts, "documents")}
	kept, err := folder.Get(wire.GoalDocument)
	if err != nil {
		t.Fatal(err)
	}
	aGoal(t, kept.Content)
	d := understood[goal.Document](t, kept.Content)
	if d.Revision != kept.Revision || len(d.Unknown) > 0 || len(d.Holds["gui"].Unknown) > 0 {
		t.Errorf("revision %s is %+v", kept.Revision, d)
	}
	kept, err = folder.Get(wire.TargetsDocument)
	if err != nil {
		t.Fatal(err)
	}
	if of := understood[wire.Targets](t, kept.Content); of.Components["api"] != "running" || of.Components["logsniffer"] != "running" {
		t.Errorf("the targets are %+v", of)
	}
}

// aGoal expects the goal that `toskose deploy --up` has set, after `toskose restart gui`.
func aGoal(t *testing.T, text []byte) {
	t.Helper()
	d, err := goal.ParseDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	if d.All != goal.Up || d.By != "admin" || d.At.IsZero() || d.Asked.Counter != 1 || d.Holds["gui"].Operation != "Standard.stop" || d.Holds["gui"].State != "configured" {
		t.Errorf("the goal is %+v", d)
	}
}

// TestTheAnswersOfAUnitAreRead: the manager of an application is replaced before its units.
func TestTheAnswersOfAUnitAreRead(t *testing.T) {
	t.Parallel()
	said := recordedExchanges(t, "unit.json")
	identity := understood[wire.Identity](t, said.answer(t, "GET", "/instance"))
	understood[wire.Snapshot](t, said.answer(t, "GET", "/components?processes=true"))
	for _, query := range []string{"wait=0s", "wait=0s&after=now"} {
		for line := range bytes.Lines(said.answer(t, "GET", "/journal?"+query)) {
			understood[wire.Entry](t, line)
		}
	}
	for _, refused := range [][2]string{{"GET", "/executions/unknown"}, {"POST", "/executions"}} {
		understood[wire.Problem](t, said.answer(t, refused[0], refused[1]))
	}

	server := said.serve(t, map[string]string{"Toskose-Instance": identity.Instance})
	pool := unitclient.NewPool(unitclient.Limits{})
	defer pool.Close()
	c := pool.Client(netip.MustParseAddrPort(server.Listener.Addr().String()), unitclient.Credentials{User: "admin", Passwords: func() []string { return []string{"any"} }})
	snapshot, err := c.Components(t.Context(), true)
	if err != nil || snapshot.Instance != identity.Instance || snapshot.Documents[wire.GoalDocument] == "" || snapshot.Digest == "" {
		t.Fatalf("%+v, %v", snapshot, err)
	}
	api := snapshot.Components[slices.IndexFunc(snapshot.Components, func(c wire.Component) bool { return c.Name == "api" })]
	if api.State != "running" || !api.Open || !slices.Equal(api.Allowed, []string{"Standard.stop"}) || len(api.Processes) == 0 || api.Processes[0].Operation == "" || api.Processes[0].Memory == 0 {
		t.Errorf("api is %+v", api)
	}
	page, err := c.Journal(t.Context(), "", 0)
	if err != nil || page.Instance != identity.Instance {
		t.Fatalf("%+v, %v", page, err)
	}
	stands(t, page.Entries)
	if hello, err := c.Journal(t.Context(), unitclient.Now, 0); err != nil || len(hello.Entries) != 1 || hello.Entries[0].Kind != wire.EntryHello || hello.Entries[0].Unit.Instance != identity.Instance {
		t.Errorf("it begins with %+v, %v", hello, err)
	}
	document, err := c.Document(t.Context(), wire.GoalDocument)
	if err != nil {
		t.Fatal(err)
	}
	aGoal(t, document.Content)
	var fault *wire.Fault
	if _, err := c.Execution(t.Context(), "unknown", 0); !errors.As(err, &fault) || fault.Code != wire.NoExecution {
		t.Errorf("an execution that there is not: %v", err)
	}
	_, err = c.Execute(t.Context(), wire.ExecuteRequest{Component: "api", Operation: "Standard.configure"})
	if !errors.As(err, &fault) || fault.Code != wire.NotAllowed || fault.Instance != identity.Instance || fault.Component == nil || fault.Component.State != "running" {
		t.Errorf("what is not allowed: %+v", err)
	}
	lines, err := c.Logs(t.Context(), wire.LogsRequest{Logs: []wire.LogWanted{{Process: "api:start", Stream: wire.Stdout}}, Last: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	var printed []byte
	for {
		chunk, text, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || !chunk.Live && chunk.At == "" || chunk.Bytes > 0 && chunk.Time.IsZero() {
			t.Fatalf("%+v, %v", chunk, err)
		}
		printed = append(printed, text...)
	}
	if string(printed) != "api: listening on port 8081\n" {
		t.Errorf("it has printed %q", printed)
	}
}
