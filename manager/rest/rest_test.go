package rest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

func TestInputsAreScalars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rest.Inputs{
		`{"inputs": {"port": 8080, "tls": true, "name": "x"}}`: {"port": "8080", "tls": "true", "name": "x"},
		`{"inputs": {"large": 12345678901234567890}}`:          {"large": "12345678901234567890"},
		`{"inputs": {}}`:   nil,
		`{"inputs": null}`: nil,
	} {
		var req rest.RunRequest
		if err := json.Unmarshal([]byte(text), &req); err != nil || !maps.Equal(req.Inputs, want) || (req.Inputs == nil) != (want == nil) {
			t.Errorf("%s: %v, %v", text, req.Inputs, err)
		}
	}
	for _, value := range []string{"[]", "{}", "null"} {
		var req rest.RunRequest
		if err := json.Unmarshal([]byte(`{"inputs": {"port": `+value+`}}`), &req); err == nil || !strings.Contains(err.Error(), `input "port"`) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestALogLineSurvivesItsJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 9, 0, 0, 1000, time.UTC)
	source := rest.LogSource{Node: "backend", Replica: "10.0.0.1:9001", Component: "api", Operation: "Standard.start", Stream: wire.Stderr}
	for _, line := range []rest.LogLine{
		{Kind: rest.LogPrinted, Time: at, LogSource: source, Line: []byte("plain")},
		{Kind: rest.LogPrinted, Time: at, LogSource: source, Line: []byte("a \"quote\", a\ttab and <é>"), Partial: true},
		{Kind: rest.LogPrinted, Time: at, LogSource: source, Line: []byte{0xff, 0}},
		{Kind: rest.LogLost, Time: at, LogSource: source, Line: []byte{}, Bytes: 7, Why: "rotated"},
		{Kind: rest.LogSilent, Time: at, LogSource: rest.LogSource{Node: "backend"}, Line: []byte{}, Why: "no answer"},
		{Kind: rest.LogLive, Time: at, Line: []byte{}},
	} {
		for _, source := range []rest.LogSource{line.LogSource, line.Encoded()} {
			line.LogSource = source
			text, err := json.Marshal(line)
			if err != nil {
				t.Fatal(err)
			}
			var got rest.LogLine
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			got.LogSource = got.Encoded()
			line.LogSource = line.Encoded()
			if !reflect.DeepEqual(got, line) {
				t.Errorf("%s: got %+v, not %+v", text, got, line)
			}
		}
	}
}

func TestTheWorstRunDecides(t *testing.T) {
	t.Parallel()
	code := 7
	for name, tt := range map[string]struct {
		runs    []wire.Execution
		refused error // of another replica
		outcome wire.Outcome
		kind    error
	}{
		"all succeeded":       {[]wire.Execution{{Outcome: wire.OutcomeSucceeded}, {Outcome: wire.OutcomeSucceeded}}, nil, wire.OutcomeSucceeded, nil},
		"one is running":      {[]wire.Execution{{Outcome: wire.OutcomeFailed}, {Outcome: wire.OutcomeRunning}}, nil, wire.OutcomeRunning, nil},
		"one failed":          {[]wire.Execution{{Outcome: wire.OutcomeSucceeded}, {Outcome: wire.OutcomeFailed, Exit: wire.Exit{ExitCode: &code}}}, nil, wire.OutcomeFailed, rest.ErrFailed},
		"one timed out":       {[]wire.Execution{{Outcome: wire.OutcomeTimeout}, {Outcome: wire.OutcomeFailed}}, nil, wire.OutcomeTimeout, rest.ErrTimeLimit},
		"one was refused":     {[]wire.Execution{{Outcome: wire.OutcomeSucceeded}}, &wire.Fault{Code: wire.NotAllowed}, rest.Refused, rest.ErrNotAllowed},
		"one does not answer": {[]wire.Execution{{Outcome: wire.OutcomeFailed}}, unitclient.ErrUnreachable, rest.Unreachable, rest.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var x rest.Execution
			for _, run := range tt.runs {
				run.ID = "x"
				x.Join("backend", "a", run)
			}
			if tt.refused != nil {
				run := rest.Run{Replica: "b"}
				run.Fail(tt.refused, time.Now())
				x.Runs = append(x.Runs, run)
			}
			x.Finish()
			if x.Outcome != tt.outcome || !errors.Is(x.Err(), tt.kind) {
				t.Errorf("%s, %v", x.Outcome, x.Err())
			}
		})
	}
}

// TestEveryFaultOfAUnitHasAKind: the API derives the status of a response from it.
func TestEveryFaultOfAUnitHasAKind(t *testing.T) {
	t.Parallel()
	for code, kind := range map[wire.FaultCode]error{
		wire.NotAllowed: rest.ErrNotAllowed, wire.Busy: rest.ErrBusy, wire.NewerEntry: rest.ErrBusy, wire.NotRunning: rest.ErrNotRunning,
		wire.NoFile: rest.ErrNoLog, wire.BadSignal: rest.ErrInvalid, wire.OtherExecution: rest.ErrReused, wire.NoExecution: rest.ErrUnknownExecution,
		wire.OtherInstance: rest.ErrUnknownReplica, wire.UnknownMethod: rest.ErrNotImplemented, wire.ShutdownState: rest.ErrUnavailable, wire.BadName: rest.ErrBadAnswer,
	} {
		err := rest.Of("replica a", fmt.Errorf("cannot: %w", &wire.Fault{Code: code}))
		if !errors.Is(err, kind) || !strings.HasPrefix(err.Error(), "replica a: ") {
			t.Errorf("%v: %v", code, err)
		}
		if again := rest.Of("another", fmt.Errorf("wrapped: %w", err)); again != err {
			t.Errorf("%v: it became %v", code, again)
		}
	}
}

func TestResultsOfReplicasAreMerged(t *testing.T) {
	t.Parallel()
	notRunning, failed := &rest.Error{Kind: rest.ErrNotRunning, Detail: "not running"}, &rest.Error{Kind: rest.ErrFailed, Detail: "failed"}
	for name, tt := range map[string]struct {
		results []rest.Result
		kind    error
	}{
		"all done":              {[]rest.Result{{Done: true}, {Done: true}}, nil},
		"one had nothing to do": {[]rest.Result{{Done: true}, {Err: notRunning}}, nil},
		"nothing to do":         {[]rest.Result{{Err: notRunning}, {Err: notRunning}}, rest.ErrNotRunning},
		"one failed":            {[]rest.Result{{Done: true}, {Err: notRunning}, {Err: failed}}, rest.ErrFailed},
	} {
		if err := rest.Worst("stop", tt.results); !errors.Is(err, tt.kind) || err != nil && !strings.HasPrefix(err.Error(), "stop: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
