package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// maxTimeout bounds toskose_timeout, in seconds: about thirty years.
const maxTimeout = 1e9

// toskose reads our keys of a program. grouped reports whether it is in a [group:x].
func (s *scope) toskose(p *Program, grouped bool, count int) {
	p.Component = s.textOr("toskose_component", "")
	p.Operation.Interface = s.textOr("toskose_interface", "")
	p.Kind = protocol.Kind(s.textOr("toskose_operation", ""))
	p.Inputs, p.SecretInputs = s.inputs("toskose_inputs"), s.inputs("toskose_secret_inputs")
	p.SecretEnv = s.inputs("toskose_secret_environment")
	p.Timeout = s.timeout()
	p.Ready, p.Live, p.Essential = s.ready(p), s.live(p), s.essential(p)
	s.copies(p)
	s.tie(p)
	s.dependent(p)
	if why := checkName(p.Component); p.Component != "" && why != "" {
		s.problem("toskose_component", "toskose_component %s", why)
	}
	if grouped && p.Component != "" && p.Component != p.Group {
		s.problem("toskose_component", "toskose_component is %q, but the program is in group %q", p.Component, p.Group)
	}
	if p.Kind == protocol.KindNone {
		for _, key := range []string{"toskose_interface", "toskose_inputs", "toskose_secret_inputs", "toskose_secret_environment", "toskose_timeout"} {
			if _, ok := s.sec.keys[key]; ok {
				s.problem(key, "%s needs toskose_operation", key)
			}
		}
		return
	}
	s.operation(p, count)
	s.describe(p)
	for name, file := range p.SecretInputs {
		if _, ok := p.Inputs[name]; ok {
			s.problem("toskose_secret_inputs", "toskose_secret_inputs names %s, and so does toskose_inputs", name)
		}
		if !path.IsAbs(file) {
			s.problem("toskose_secret_inputs", "toskose_secret_inputs names a file for %s by a path that is not absolute", name)
		}
	}
	for name, file := range p.SecretEnv {
		if !path.IsAbs(file) {
			s.problem("toskose_secret_environment", "toskose_secret_environment names a file for %s by a path that is not absolute", name)
		}
	}
}

// operation checks the keys of a program that is an operation.
func (s *scope) operation(p *Program, count int) {
	switch p.Kind {
	case protocol.KindRun, protocol.KindStart, protocol.KindStop, protocol.KindNone:
	default:
		s.wrong("toskose_operation", "run, start or stop")
	}
	if p.Component == "" {
		s.problem("toskose_operation", "toskose_operation needs toskose_component")
	}
	if p.Operation.Interface == "" {
		s.problem("toskose_operation", "toskose_operation needs toskose_interface")
	}
	if count > 1 {
		s.problem("numprocs", "numprocs is %d, but an operation is one process", count)
	}
	if p.Autostart || p.Autorestart != RestartNever {
		s.warn("toskose_operation", "is an operation, which runs on request only; set autostart=false and autorestart=false")
	}
	p.Operation.Name = strings.TrimPrefix(p.Name, p.Operation.Interface+".")
}

// inputs reads a JSON object of strings. No message shows a value.
func (s *scope) inputs(key string) map[string]string {
	text, ok := s.text(key)
	if !ok {
		return nil
	}
	var set map[string]string
	if !s.json(key, text, &set) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			s.problem(key, "%s has a name that no variable can have", key)
		}
		if strings.Contains(set[name], "\x00") {
			s.problem(key, "%s sets %s to a value with a zero byte", key, name)
		}
	}
	return set
}

func (s *scope) timeout() time.Duration {
	text, ok := s.text("toskose_timeout")
	if !ok {
		return 0
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(seconds >= 0 && seconds <= maxTimeout) {
		s.wrong("toskose_timeout", "a number of seconds")
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// json decodes a value strictly, and reports the position of an error.
func (s *scope) json(key, text string, into any) bool {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	offset := decoder.InputOffset()
	if err == nil {
		if _, more := decoder.Token(); more == nil || !errors.Is(more, io.EOF) {
			err = errors.New("has text after its end")
		}
	}
	if err == nil {
		if null := bytes.Equal(bytes.TrimSpace([]byte(text)), []byte("null")); !null {
			return true
		}
		err = errors.New("is null")
	}
	why := err.Error()
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset, why = syntax.Offset, "is not valid JSON"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		offset, why = int64(len(text)), "is not valid JSON: it ends too early"
	case errors.As(err, &kind):
		found, _, _ := strings.Cut(kind.Value, " ")
		offset, why = kind.Offset, fmt.Sprintf("has a %s in the wrong place", found)
		if kind.Field != "" {
			why = fmt.Sprintf("has a %s at %s", found, kind.Field)
		}
	case strings.HasPrefix(why, "json: unknown field "):
		why = "has the " + strings.TrimPrefix(why, "json: ")
	}
	s.problemAt(key, text, int(offset), "%s %s", key, why)
	return false
}

// problemAt reports a mistake at an offset of a key's text: by its line if the value
// has several, and by its character.
func (s *scope) problemAt(key, text string, offset int, format string, args ...any) {
	v, _ := s.written(key)
	offset = max(0, min(offset, len(text)))
	line := strings.Count(text[:offset], "\n")
	column := offset - strings.LastIndexByte(text[:offset], '\n') - 1
	if len(v.lines) == 1 || line >= len(v.lines) {
		line = 0
	}
	s.report.problem(v.file, v.lines[line], "[%s] %s (at character %d of the value)", s.sec.name, fmt.Sprintf(format, args...), max(column, 1))
}

// toskoseSection reads a [toskose:…] section.
func (p *parser) toskoseSection(sec *section, name string) {
	component, ok := strings.CutPrefix(name, "component:")
	if !ok {
		p.report.problem(sec.file, sec.line, "[%s] is not a section of Toskose; [toskose:component:NAME] is", sec.name)
		return
	}
	s := p.scope(sec)
	if why := checkName(component); why != "" {
		s.problem("", "has a name that %s", why)
	}
	if slices.ContainsFunc(p.container.Components, func(of spec.Hosted) bool { return of.Name == component }) {
		s.problem("", "is in %s, too", ContainerFile)
	}
	c := Component{Name: component}
	if text, ok := s.text("toskose_protocol"); ok {
		var p protocol.Protocol
		if s.json("toskose_protocol", text, &p) {
			for _, err := range p.Problems() {
				s.problem("toskose_protocol", "toskose_protocol: %v", err)
			}
			c.Protocol = &p
		}
	} else if _, set := s.written("toskose_protocol"); !set {
		s.problem("toskose_protocol", "lacks toskose_protocol")
	}
	c.Files, _ = s.text("toskose_files")
	s.finish()
	p.config.Components = append(p.config.Components, c)
}

// components adds the components that only programs name, and checks operations
// against protocols.
func (p *parser) components() {
	known := map[string]*protocol.Protocol{}
	for _, c := range p.config.Components {
		known[c.Name] = c.Protocol
	}
	operations := map[string]string{}
	for _, g := range p.config.Groups {
		for _, program := range g.Programs {
			if program.Component == "" {
				continue
			}
			if _, ok := known[program.Component]; !ok {
				known[program.Component] = nil
				p.config.Components = append(p.config.Components, Component{Name: program.Component})
			}
			p.checkOperation(&program, known[program.Component], operations)
		}
	}
	components := p.config.Components
	slices.SortFunc(components, func(a, b Component) int { return cmp.Compare(a.Name, b.Name) })
}

func (p *parser) checkOperation(program *Program, of *protocol.Protocol, seen map[string]string) {
	if program.Kind == protocol.KindNone {
		return
	}
	s := p.scope(p.sectionOf(program))
	name := program.Component + ":" + program.Operation.String()
	if first, ok := seen[name]; ok && first != program.Section {
		s.problem("toskose_operation", "is the operation %s, and so is [program:%s]", name, first)
	}
	seen[name] = program.Section
	if of != nil && !slices.Contains(of.Operations(), program.Operation) {
		s.warn("toskose_operation", "is the operation %s, which is in no transition of the component's protocol: it is never allowed", program.Operation)
	}
}
