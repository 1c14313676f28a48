package process

import (
	"cmp"
	"strings"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// Relay returns a result handler that copies the results of an event listener to the container's
// output. While no one reads that output, the listener blocks.
func (t *Table) Relay(l *config.Listener) func(body string) {
	format := l.Programs[0].Output
	style := logs.Prefixed
	if format == config.OutputJSON {
		style = logs.JSON
	}
	out := t.console.Lines("", "", wire.Stdout, style)
	err := t.console.Lines("", "", wire.Stderr, style)
	t.mu.Lock()
	t.relaySpools[l.Name] = []*logs.Spool{out.Spool(), err.Spool()}
	t.mu.Unlock()
	return func(body string) {
		r := parseListenerResult(body)
		lines := out.Plain()
		if format == config.OutputJSON {
			lines = out
			if r.channel == wire.Stderr {
				lines = err
			}
			lines = lines.Of(cmp.Or(r.group, l.Name), cmp.Or(r.name, l.Programs[0].Name))
		} else {
			r.data = r.prefixed()
		}
		_, _ = lines.Write([]byte(r.data)) // never fails
		lines.Flush()
	}
}

// relaySpools returns the spools with results of the listener that are not written yet.
func (p *owner) relaySpools() []*logs.Spool {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	return p.table.relaySpools[p.cfg.Group]
}

// listenerResult is a result of a listener. If it is the payload of a PROCESS_LOG event, as sent
// back by supervisor-stdout, it names the process and the channel.
type listenerResult struct {
	name, group string
	channel     wire.Stream
	data        string
}

func parseListenerResult(body string) listenerResult {
	header, data, _ := strings.Cut(body, "\n")
	values := map[string]string{}
	for _, field := range strings.Fields(header) {
		key, value, _ := strings.Cut(field, ":")
		values[key] = value
	}
	r := listenerResult{values["processname"], values["groupname"], wire.Stream(values["channel"]), data}
	if r.name == "" || r.group == "" || r.channel != wire.Stdout && r.channel != wire.Stderr {
		return listenerResult{data: body}
	}
	return r
}

// prefixed returns the text with process and channel before each line.
func (r listenerResult) prefixed() string {
	if r.name == "" {
		return r.data
	}
	var text strings.Builder
	for line := range strings.Lines(r.data) {
		text.WriteString(r.name + " " + string(r.channel) + " | " + line)
	}
	return text.String()
}
