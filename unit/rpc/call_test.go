package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

const (
	yes       = "<value><boolean>1</boolean></value>"
	statusXML = "<value><array><data><value><struct><member><name>name</name><value><string>start</string></value></member>" +
		"<member><name>group</name><value><string>api</string></value></member><member><name>status</name><value><int>80</int></value></member>" +
		"<member><name>description</name><value><string>OK</string></value></member></struct></value></data></array></value>"
)

func TestCallsReachTheUnitAndAreAnswered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method string
		params []string
		asked  string // of the unit
		want   string
	}{
		{"supervisor.getAPIVersion", nil, "", "<value><string>3.0</string></value>"},
		{"supervisor.getVersion", nil, "", "<value><string>3.0</string></value>"},
		{"supervisor.getSupervisorVersion", nil, "", "<value><string>dev</string></value>"},
		{"supervisor.getIdentification", nil, "", "<value><string>supervisor</string></value>"},
		{"supervisor.getPID", nil, "", "<value><int>1</int></value>"},
		{"supervisor.getState", nil, "", "<value><struct><member><name>statecode</name><value><int>1</int></value></member>" +
			"<member><name>statename</name><value><string>RUNNING</string></value></member></struct></value>"},
		{"supervisor.shutdown", nil, "shutdown", yes},
		{"supervisor.restart", nil, "restart", yes},
		{"supervisor.readLog", []string{"<int>-10</int>", "<int>0</int>"}, "read -10 0", "<value><string>log ␀</string></value>"},
		{"supervisor.readMainLog", []string{"<int>0</int>", "<i4>5</i4>"}, "read 0 5", "<value><string>log ␀</string></value>"},
		{"supervisor.clearLog", nil, "clear", yes},
		{"supervisor.startProcess", []string{"api:start"}, "start api:start true", yes},
		{"supervisor.startProcess", []string{"api:start", "<boolean>0</boolean>"}, "start api:start false", yes},
		{"supervisor.startProcess", []string{"api:start", "<int>0</int>"}, "start api:start false", yes},
		{"supervisor.startProcess", []string{"api:*"}, "start api:* true", statusXML},
		{"supervisor.startProcess", []string{"api:"}, "start api: true", statusXML},
		{"supervisor.startProcessGroup", []string{"api"}, "start group api true", statusXML},
		{"supervisor.startAllProcesses", nil, "start all true", statusXML},
		{"supervisor.stopProcess", []string{"api:start", "<boolean>0</boolean>"}, "stop api:start false", yes},
		{"supervisor.stopProcess", []string{"api:*"}, "stop api:* true", statusXML},
		{"supervisor.stopProcessGroup", []string{"api"}, "stop group api true", statusXML},
		{"supervisor.stopAllProcesses", []string{"<boolean>0</boolean>"}, "stop all false", statusXML},
		{"supervisor.signalProcess", []string{"api:start", "HUP"}, "signal api:start HUP", yes},
		{"supervisor.signalProcess", []string{"api:start", "<int>1</int>"}, "signal api:start 1", yes},
		{"supervisor.signalProcess", []string{"api:*", "HUP"}, "signal api:* HUP", statusXML},
		{"supervisor.signalProcessGroup", []string{"api", "SIGHUP"}, "signal group api SIGHUP", statusXML},
		{"supervisor.signalAllProcesses", []string{"1"}, "signal all 1", statusXML},
		{
			"supervisor.reloadConfig", nil, "reload", "<value><array><data><value><array><data>" +
				"<value><array><data><value><string>a</string></value></data></array></value><value><array><data></data></array></value>" +
				"<value><array><data><value><string>b</string></value><value><string>c</string></value></data></array></value>" +
				"</data></array></value></data></array></value>",
		},
		{"supervisor.addProcessGroup", []string{"api"}, "add api", yes},
		{"supervisor.removeProcessGroup", []string{"api"}, "remove api", yes},
		{"supervisor.sendProcessStdin", []string{"api:start", "<base64>AAo=</base64>"}, `stdin api:start "\x00\n"`, yes},
		{"supervisor.sendRemoteCommEvent", []string{"type", "<int>7</int>"}, "event type 7", yes},
		{"supervisor.readProcessStdoutLog", []string{"api:start", "<int>0</int>", "<int>9</int>"}, "read api:start stdout 0 9", "<value><string>log ␀</string></value>"},
		{"supervisor.readProcessLog", []string{"api:start", "<int>0</int>", "<int>9</int>"}, "read api:start stdout 0 9", "<value><string>log ␀</string></value>"},
		{"supervisor.readProcessStderrLog", []string{"api:start", "<int>0</int>", "<int>9</int>"}, "read api:start stderr 0 9", "<value><string>log ␀</string></value>"},
		{
			"supervisor.tailProcessStderrLog",
			[]string{"api:start", "<int>0</int>", "<int>9</int>"},
			"tail api:start stderr 0 9",
			"<value><array><data><value><string>log ␀</string></value><value><i8>4294967296</i8></value>" + yes + "</data></array></value>",
		},
		{"supervisor.clearProcessLogs", []string{"api:start"}, "clear api:start", yes},
		{"supervisor.clearProcessLog", []string{"api:start"}, "clear api:start", yes},
		{"supervisor.clearAllProcessLogs", nil, "clear all", statusXML},
		{"system.methodHelp", []string{"supervisor.getPID"}, "", "<value><string>Returns the process id of the unit.</string></value>"},
		{"system.methodSignature", []string{"supervisor.startProcess"}, "", "<value><array><data><value><string>boolean</string></value>" +
			"<value><string>string</string></value><value><string>boolean</string></value></data></array></value>"},
	} {
		t.Run(tt.method+" "+strings.Join(tt.params, " "), func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.log = "log \x00"
			if got := answered(t, post(t, handlerOf(f), methodCall(tt.method, tt.params...))); got != tt.want {
				t.Errorf("answer %s\nwant   %s", got, tt.want)
			}
			if got := strings.Join(f.asked(), "; "); got != tt.asked {
				t.Errorf("asked %q, want %q", got, tt.asked)
			}
		})
	}
}

func TestCallsThatDoNotFitAreFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method string
		params []string
		want   string
	}{
		{"supervisor.nothing", nil, faultXML(1, "UNKNOWN_METHOD: supervisor.nothing")},
		{"supervisor.getPID", []string{"x"}, faultXML(2, "INCORRECT_PARAMETERS: supervisor.getPID takes at most 0 parameters, not 1")},
		{"supervisor.getProcessInfo", nil, faultXML(2, "INCORRECT_PARAMETERS: supervisor.getProcessInfo needs parameter 1, name")},
		{"supervisor.getProcessInfo", []string{"<int>1</int>"}, faultXML(2, "INCORRECT_PARAMETERS: parameter 1 of supervisor.getProcessInfo, name, is of type string, not int")},
		{"supervisor.startProcess", []string{"a", "yes"}, faultXML(2, "INCORRECT_PARAMETERS: parameter 2 of supervisor.startProcess, wait, is of type boolean, not string")},
		{"supervisor.readLog", []string{"0", "0"}, faultXML(2, "INCORRECT_PARAMETERS: parameter 1 of supervisor.readLog, offset, is of type int, not string")},
		{"supervisor.signalProcess", []string{"a", "<double>1</double>"}, faultXML(2, "INCORRECT_PARAMETERS: parameter 2 of supervisor.signalProcess, signal, is of type string, not double")},
		{"system.methodHelp", []string{"nothing"}, faultXML(4, "SIGNATURE_UNSUPPORTED")},
		{"system.methodSignature", []string{"nothing"}, faultXML(4, "SIGNATURE_UNSUPPORTED")},
	} {
		t.Run(tt.method, func(t *testing.T) {
			t.Parallel()
			if got := answered(t, post(t, handlerOf(newFake()), methodCall(tt.method, tt.params...))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestErrorsOfTheUnitAreFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{wire.NewFault(wire.BadName, "api:x"), faultXML(10, "BAD_NAME: api:x")},
		{fmt.Errorf("cannot start: %w", wire.NewFault(wire.SpawnError, "")), faultXML(50, "SPAWN_ERROR")},
		{errors.New("disk\x00 full"), faultXML(30, "FAILED: disk␀ full")},
		{context.Canceled, faultXML(30, "FAILED: the wait was interrupted; the action continues")},
	} {
		f := newFake()
		f.err = tt.err
		if got := answered(t, post(t, handlerOf(f), methodCall("supervisor.startProcess", "api:x"))); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestEveryMethodOfSupervisorExists(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`addProcessGroup clearAllProcessLogs clearLog clearProcessLog clearProcessLogs getAPIVersion getAllConfigInfo
		getAllProcessInfo getIdentification getPID getProcessInfo getState getSupervisorVersion getVersion readLog readMainLog readProcessLog
		readProcessStderrLog readProcessStdoutLog reloadConfig removeProcessGroup restart sendProcessStdin sendRemoteCommEvent shutdown
		signalAllProcesses signalProcess signalProcessGroup startAllProcesses startProcess startProcessGroup stopAllProcesses stopProcess
		stopProcessGroup tailProcessLog tailProcessStderrLog tailProcessStdoutLog`)
	for i := range want {
		want[i] = "supervisor." + want[i]
	}
	want = append(want, "system.listMethods", "system.methodHelp", "system.methodSignature", "system.multicall")
	s := New(Options{Unit: newFake(), Logger: quiet()}).(*server)
	if !slices.Equal(s.names, want) {
		t.Errorf("got %v\nwant %v", s.names, want)
	}
	types := []string{"string", "int", "boolean", "double", "array", "struct"}
	for name, m := range s.methods {
		if m.help == "" || !strings.HasSuffix(m.help, ".") {
			t.Errorf("%s has no help", name)
		}
		for _, kind := range m.signature() {
			if !slices.Contains(types, kind) {
				t.Errorf("%s has a %q in its signature", name, kind)
			}
		}
	}
}

func TestWhileTheUnitShutsDownOnlySupervisorsMethodsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.state = wire.DaemonShutdown
	h := handlerOf(f)
	for method, refused := range map[string]bool{
		"supervisor.getState": true, "supervisor.getAllProcessInfo": true, "supervisor.shutdown": true,
		"system.listMethods": false,
	} {
		got := answered(t, post(t, h, methodCall(method)))
		if isFault := got == faultXML(6, "SHUTDOWN_STATE"); isFault != refused {
			t.Errorf("%s: %s", method, got)
		}
	}
	if got := answered(t, post(t, h, methodCall("supervisor.sendRemoteCommEvent", "a", "b"))); got != yes {
		t.Errorf("sendRemoteCommEvent: %s", got)
	}
}

func multicallOf(calls ...string) string {
	return methodCall("system.multicall", "<array><data><value>"+strings.Join(calls, "</value><value>")+"</value></data></array>")
}

func oneCall(name, params string) string {
	return "<struct><member><name>methodName</name><value>" + name + "</value></member><member><name>params</name><value>" + params + "</value></member></struct>"
}

func TestMulticallCallsInOrderAndAnswersBareValues(t *testing.T) {
	t.Parallel()
	f := newFake()
	w := post(t, handlerOf(f), multicallOf(
		oneCall("supervisor.stopProcess", "<array><data><value>a</value></data></array>"),
		oneCall("supervisor.startProcess", "<array><data><value>a</value></data></array>"),
		oneCall("supervisor.getPID", "<array><data/></array>"),
		"<struct><member><name>methodName</name><value>supervisor.getPID</value></member></struct>",
		oneCall("system.multicall", "<array><data/></array>"),
		oneCall("nothing", "<array><data/></array>"),
		oneCall("supervisor.getPID", "<int>1</int>"),
		"<struct/>",
		"text",
	))
	inner := func(code int, text string) string {
		return strings.TrimSuffix(strings.TrimPrefix(faultXML(code, text), "<fault>"), "</fault>")
	}
	want := "<value><array><data>" + yes + yes + strings.Repeat("<value><int>1</int></value>", 2) +
		inner(2, "INCORRECT_PARAMETERS: Recursive system.multicall forbidden") + inner(1, "UNKNOWN_METHOD: nothing") +
		inner(2, "INCORRECT_PARAMETERS: params is an array") + inner(2, "INCORRECT_PARAMETERS: No methodName") +
		inner(2, "INCORRECT_PARAMETERS: a call is a struct") + "</data></array></value>"
	if got := answered(t, w); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := f.asked(); !slices.Equal(got, []string{"stop a true", "start a true"}) {
		t.Errorf("asked %q", got)
	}
}

func TestMulticallStopsWhenItsAnswersGrowTooLong(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.log = strings.Repeat("x", 1000)
	h := New(Options{Unit: f, Logger: quiet(), Limits: Limits{AnswerBytes: 1500}})
	read := oneCall("supervisor.readLog", "<array><data><value><int>0</int></value><value><int>0</int></value></data></array>")
	got := answered(t, post(t, h, multicallOf(read, read, read, read)))
	if n := len(f.asked()); n != 2 || strings.Count(got, "not called: the results of the previous calls have more than 1500 bytes") != 2 {
		t.Errorf("%d calls, answer %s", n, got)
	}
}
