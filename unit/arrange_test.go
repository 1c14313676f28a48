package unit

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/toskose/toskose/unit/config"
)

// configured reads sections; each text is a line of keys separated by `|`.
func configured(t *testing.T, sections string) []*groupConfig {
	t.Helper()
	text := "[supervisord]\n" + strings.ReplaceAll(sections, "|", "\n")
	files := fstest.MapFS{"c": {Data: []byte(text)}, "etc/passwd": {Data: []byte("root:x:0:0::/:/bin/sh\nnobody:x:99:99::/:/bin/sh\n")}}
	c, _, err := config.Parse("/c", config.Options{FS: files, Host: "host"})
	if err != nil {
		t.Fatal(err)
	}
	return groupConfigs(c)
}

const operation = "|command=x|autostart=false|autorestart=false|toskose_component=api|toskose_interface=I|toskose_operation="

func protocolOf(states ...string) string {
	return fmt.Sprintf(`[toskose:component:api]|toskose_protocol={"initial":%q,"states":[{"name":"%s"}],"transitions":[]}|`,
		states[0], strings.Join(states, `"},{"name":"`))
}

func TestAReloadTellsWhatHasToBeDone(t *testing.T) {
	t.Parallel()
	const pair = "[program:a]|command=a|[program:b]|command=b|[group:g]|programs=a,b|"
	const listener = "[eventlistener:l]|command=l|process_name=%(process_num)s|"
	const three = "[program:w]|command=w|process_name=%%(process_num)s|numprocs=%d|"
	for name, tt := range map[string]struct{ before, after, added, changed, removed string }{
		"nothing":                      {pair, pair, "", "", ""},
		"another order in the file":    {"[program:a]|command=a|[program:b]|command=b", "[program:b]|command=b|[program:a]|command=a", "", "", ""},
		"a new group":                  {"", pair, "g", "", ""},
		"a group is gone":              {pair, "", "", "", "g"},
		"all at once":                  {"[program:a]|command=a|[program:b]|command=b", "[program:b]|command=c|[program:c]|command=c", "c", "b", "a"},
		"the only command":             {"[program:a]|command=a", "[program:a]|command=a b", "", "a", ""},
		"one command of two":           {pair, strings.Replace(pair, "command=b", "command=c", 1), "g", "", ""},
		"both commands":                {pair, "[program:a]|command=x|[program:b]|command=y|[group:g]|programs=a,b|", "", "g", ""},
		"one member less":              {pair, "[program:a]|command=a|[program:b]|command=b|[group:g]|programs=a", "b g", "", ""},
		"no member as it was":          {pair, "[program:c]|command=c|[group:g]|programs=c", "", "g", ""},
		"more processes":               {fmt.Sprintf(three, 2), fmt.Sprintf(three, 3), "w", "", ""},
		"fewer processes":              {fmt.Sprintf(three, 3), fmt.Sprintf(three, 2), "w", "", ""},
		"no processes":                 {fmt.Sprintf(three, 3), fmt.Sprintf(three, 0), "", "w", ""},
		"the environment of all":       {"environment=A=1|" + pair, "environment=A=2|" + pair, "", "g", ""},
		"the group's priority":         {pair, pair + "priority=5", "", "", ""},
		"an operation of several":      {"[program:c]" + operation + "run|[program:d]" + operation + "run|", "[program:c]" + operation + "run|[program:d]" + operation + "run|directory=/|", "api", "", ""},
		"the protocol":                 {protocolOf("s", "t") + "[program:c]" + operation + "run|", protocolOf("s") + "[program:c]" + operation + "run|", "api", "", ""},
		"the protocol and all of it":   {protocolOf("s", "t") + "[program:c]" + operation + "run|", protocolOf("s") + "[program:c]" + operation + "start|", "", "api", ""},
		"a component without programs": {"", protocolOf("s"), "api", "", ""},
		"its protocol":                 {protocolOf("s"), protocolOf("s", "t"), "api", "", ""},
		"a listener":                   {"", listener + "events=TICK_5", "l", "", ""},
		"what it is told":              {listener + "events=TICK_5", listener + "events=TICK_60", "", "l", ""},
		"another listener of a pool":   {listener + "events=TICK_5|numprocs=1", listener + "events=TICK_5|numprocs=2", "l", "", ""},
		"a listener's priority":        {listener + "events=TICK_5", listener + "events=TICK_5|priority=3", "", "", ""},
		"a listener that is none now":  {listener + "events=TICK_5", "[program:l]|command=l|process_name=%(process_num)s|numprocs=1", "", "l", ""},
		"it is gone":                   {protocolOf("s"), "", "", "", "api"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := differences(configured(t, tt.before), configured(t, tt.after))
			want := Differences{Added: strings.Fields(tt.added), Changed: strings.Fields(tt.changed), Removed: strings.Fields(tt.removed)}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestWhichKeysTakeARestart(t *testing.T) {
	t.Parallel()
	const program = "[program:p]|command=p|toskose_component=api|toskose_interface=I|toskose_operation=run|autostart=false|autorestart=false|"
	const plain = "[program:p]|command=p|"
	for line, restarts := range map[string]bool{
		plain + "directory=/tmp": true, plain + "umask=077": true, plain + "user=nobody": true, plain + "environment=A=1": true,
		plain + "serverurl=http://x": true, plain + "redirect_stderr=true": true, plain + "stdout_logfile=NONE": true,
		plain + "stderr_logfile=/x": true, plain + "stdout_events_enabled=true": true, plain + "stderr_events_enabled=true": true,
		plain + "priority=1": false, plain + "autostart=false": false, plain + "autorestart=true": false, plain + "startsecs=9": false,
		plain + "startretries=9": false, plain + "exitcodes=7": false, plain + "stopsignal=INT": false, plain + "stopwaitsecs=1": false,
		plain + "stopasgroup=true": false, plain + "killasgroup=true": false, plain + "numprocs_start=4": false,
		plain + "stdout_logfile_maxbytes=1MB": false, plain + "stderr_logfile_maxbytes=1MB": false,
		plain + "stdout_logfile_backups=1": false, plain + "stderr_logfile_backups=1": false,
		plain + "stdout_capture_maxbytes=1MB": true, plain + "stderr_capture_maxbytes=1MB": true,
		plain + "stdout_syslog=true": true, plain + "stderr_syslog=true": true,
		program + `toskose_inputs={"A":"1"}`: false, program + `toskose_secret_inputs={"A":"/a"}`: false,
		program + `toskose_secret_environment={"A":"/a"}`: false, program + "toskose_timeout=3": false,
	} {
		key := line[strings.LastIndex(line, "|")+1:]
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			before, after := configured(t, line[:len(line)-len(key)]), configured(t, line)
			if reflect.DeepEqual(before, after) {
				t.Fatal("the key changes nothing at all")
			}
			if got := !compareGroups(before[0], after[0]).isEmpty(); got != restarts {
				t.Errorf("takes a restart: %v, want %v", got, restarts)
			}
		})
	}
}
