package differential

import (
	"path"
	"regexp"
	"strings"
)

// answer is what a server did at one step, as lines that can be compared.
type answer []string

// normal puts names in the place of what is never the same twice.
func (v *server) normal(lines answer) answer {
	address := regexp.MustCompile(`:` + v.port + `\b`) // the digits alone may be part of another number
	out := make(answer, len(lines))
	for i, line := range lines {
		line = address.ReplaceAllString(strings.ReplaceAll(line, v.dir, "DIR"), ":PORT")
		out[i] = autoLog.ReplaceAllString(line, "-${1}---${2}-RANDOM.log")
	}
	return out
}

var (
	autoLog = regexp.MustCompile(`-(stdout|stderr)---(\w+)-\w+\.log`)
	uptime  = regexp.MustCompile(`pid \d+, uptime \d+:\d\d:\d\d`)
	date    = regexp.MustCompile(`\b[A-Z][a-z]{2} \d\d \d\d:\d\d [AP]M\b`)
	pidKey  = regexp.MustCompile(`\bpid:[1-9]\d*`)
	when    = regexp.MustCompile(`\bwhen:\d+`)
	mark    = regexp.MustCompile(`^TOSKOSE_MARK=\d+$`)
	pidLine = regexp.MustCompile(`^((?:supervisor> )*)[1-9]\d*$`)
)

// normalField does so for the fields of an answer that hold times and ids.
func normalField(field string, v scalar) string {
	name := strings.TrimPrefix(path.Ext(field), ".")
	switch {
	case v.kind == "int" && v.text != "0" && (name == "start" || name == "stop" || name == "now"):
		return "TIME"
	case v.kind == "int" && v.text != "0" && name == "pid":
		return "PID"
	case v.kind == "boolean":
		return map[string]string{"0": "false", "1": "true"}[v.text]
	}
	return normalText(v.text)
}

func normalText(text string) string {
	return date.ReplaceAllString(uptime.ReplaceAllString(text, "pid PID, uptime TIME"), "DATE")
}

// normalOutput does so for what supervisorctl prints.
func normalOutput(text string) answer {
	var lines answer
	for line := range strings.Lines(text) {
		line = strings.TrimRight(normalText(line), "\r\n ")
		line = pidLine.ReplaceAllString(line, "${1}PID")
		line = when.ReplaceAllString(pidKey.ReplaceAllString(line, "pid:PID"), "when:TIME")
		line = mark.ReplaceAllString(line, "TOSKOSE_MARK=NUMBER")
		lines = append(lines, "| "+line)
	}
	return lines
}
