package process

import (
	"cmp"
	"strings"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// Relay returns what writes the results of an event listener to the container's
// output, which is what the result handlers in use do. A listener whose results
// nobody reads is held.
func (t *Table) Relay(l *config.Listener) func(body string) {
	format := l.Programs[0].Output
	style := logs.Prefixed
	if format == config.OutputJSON {
		style = logs.JSON
	}
	out := t.console.Lines("", "", wire.Stdout, style)
	err := t.console.Lines("", "", wire.Stderr, style)
	t.mu.Lock()
	t.relays[l.Name] = []*logs.Spool{out.Spool(), err.Spool()}
	t.mu.Unlock()
	return func(body string) {
		r := relayedOf(body)
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
		_, _ = lines.Write([]byte(r.data)) // which never fails
		lines.Flush()
	}
}

// relays returns what waits of the results of a listener.
func (p *owner) relays() []*logs.Spool {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	return p.table.relays[p.cfg.Group]
}

// relayed is the result of a listener. Where that is the payload of an event of a
// log, which supervisor-stdout sends back as it came, it says whose the data are.
type relayed struct {
	name, group string
	channel     wire.Stream
	data        string
}

func relayedOf(body string) relayed {
	header, data, _ := strings.Cut(body, "\n")
	values := map[string]string{}
	for _, field := range strings.Fields(header) {
		key, value, _ := strings.Cut(field, ":")
		values[key] = value
	}
	r := relayed{values["processname"], values["groupname"], wire.Stream(values["channel"]), data}
	if r.name == "" || r.group == "" || r.channel != wire.Stdout && r.channel != wire.Stderr {
		return relayed{data: body}
	}
	return r
}

// prefixed is the text with the process and the channel before each line.
func (r relayed) prefixed() string {
	if r.name == "" {
		return r.data
	}
	var text strings.Builder
	for line := range strings.Lines(r.data) {
		text.WriteString(r.name + " " + string(r.channel) + " | " + line)
	}
	return text.String()
}
