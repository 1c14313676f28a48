package config

import (
	"errors"
	"fmt"
	"hash"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/toskose/toskose/spec"
)

// parser is one run of Parse.
type parser struct {
	o      Options
	file   string // the main file
	doc    *document
	report *report
	env    map[string]string // for %(ENV_x)s
	users  *users
	config *Config
	digest hash.Hash // of the files read

	container  *spec.Container // the document beside the main file; empty: none
	dependents []dependent
	ties       []tie
}

// scope reads the keys of one section, with the names that expand in it. It reports an invalid
// value and uses the default instead.
type scope struct {
	*parser
	sec   *section
	names map[string]any    // a string or an int each
	env   map[string]string // takes precedence over parser.env
	used  map[string]bool
}

func (p *parser) scope(sec *section) *scope {
	return &scope{parser: p, sec: sec, used: map[string]bool{}, names: map[string]any{"host_node_name": p.o.Host}}
}

// problem reports a mistake in a key, or in the section if the key is not set.
func (s *scope) problem(key, format string, args ...any) {
	file, line := s.position(key)
	s.report.problem(file, line, "[%s] %s", s.sec.name, fmt.Sprintf(format, args...))
}

func (s *scope) warn(key, format string, args ...any) {
	file, line := s.position(key)
	s.report.warn(file, line, "[%s] %s", s.sec.name, fmt.Sprintf(format, args...))
}

func (s *scope) position(key string) (string, int) {
	if v, ok := s.doc.lookup(s.sec, key); ok {
		return v.file, v.line()
	}
	return s.sec.file, s.sec.line
}

// accept marks keys as known without reading them.
func (s *scope) accept(keys ...string) {
	for _, key := range keys {
		s.used[key] = true
	}
}

// written returns a key's text as in the file. Messages contain only this text: its expansion may
// contain a secret of the environment.
func (s *scope) written(key string) (*value, bool) {
	s.used[key] = true
	return s.doc.lookup(s.sec, key)
}

// text returns a key's text, expanded; false: it is not set, or it cannot be expanded.
func (s *scope) text(key string) (string, bool) {
	v, ok := s.written(key)
	if !ok {
		return "", false
	}
	text, err := expand(v.text, func(name string) (any, bool) { return s.name(v, name) })
	var unknown *unknownName
	switch {
	case errors.As(err, &unknown) && !strings.HasPrefix(unknown.name, "ENV_"):
		known := slices.Sorted(maps.Keys(s.names))
		s.problem(key, "%s %s; known names are ENV_…, here, %s", key, err, strings.Join(known, ", "))
	case err != nil:
		s.problem(key, "%s %s", key, err)
	case strings.Contains(text, "\x00"):
		s.problem(key, "%s expands to text with a zero byte", key)
	default:
		return text, true
	}
	return "", false
}

func (s *scope) name(v *value, name string) (any, bool) {
	if env, ok := strings.CutPrefix(name, "ENV_"); ok {
		if text, ok := s.env[env]; ok {
			return text, true
		}
		text, ok := s.parser.env[env]
		return text, ok
	}
	if name == "here" {
		return v.here, true
	}
	known, ok := s.names[name]
	return known, ok
}

func (s *scope) textOr(key, fallback string) string {
	if text, ok := s.text(key); ok {
		return text
	}
	return fallback
}

// wrong reports a value that its key does not allow.
func (s *scope) wrong(key, needs string) {
	v, _ := s.written(key)
	text, _, more := strings.Cut(v.text, "\n")
	if more {
		text += "…"
	}
	s.problem(key, "%s=%s is not %s", key, text, needs)
}

func (s *scope) number(key string, fallback, lowest, highest int) int {
	text, ok := s.text(key)
	if !ok {
		return fallback
	}
	number, err := strconv.Atoi(strings.TrimSpace(text))
	switch {
	case err != nil:
		s.wrong(key, "a whole number")
	case number < lowest || number > highest:
		s.wrong(key, fmt.Sprintf("a number from %d to %d", lowest, highest))
	default:
		return number
	}
	return fallback
}

var booleans = map[string]bool{
	"yes": true, "true": true, "on": true, "1": true,
	"no": false, "false": false, "off": false, "0": false,
}

func (s *scope) boolean(key string, fallback bool) bool {
	text, ok := s.text(key)
	if !ok {
		return fallback
	}
	set, ok := booleans[strings.ToLower(text)]
	if !ok {
		s.wrong(key, "true or false")
		return fallback
	}
	return set
}

var sizeUnits = map[string]int64{"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}

// size reads a number of bytes, with KB, MB or GB for 1,024 and its powers. A
// negative size is 0, as in Supervisor.
func (s *scope) size(key string, fallback int64) int64 {
	text, ok := s.text(key)
	if !ok {
		return fallback
	}
	text, unit := strings.ToLower(strings.TrimSpace(text)), int64(1)
	if len(text) > 2 {
		if known, ok := sizeUnits[text[len(text)-2:]]; ok {
			text, unit = strings.TrimSpace(text[:len(text)-2]), known
		}
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number > math.MaxInt64/unit {
		s.wrong(key, "a size such as 512, 64KB, 50MB or 1GB")
		return fallback
	}
	return max(number, 0) * unit
}

// octal reads permission bits.
func (s *scope) octal(key string, fallback int) int {
	text, ok := s.text(key)
	if !ok {
		return fallback
	}
	number, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(text), "0o"), 8, 12)
	if err != nil {
		s.wrong(key, "an octal number such as 022")
		return fallback
	}
	return int(number)
}

func (s *scope) signal(key string, fallback syscall.Signal) syscall.Signal {
	text, ok := s.text(key)
	if !ok {
		return fallback
	}
	if sig, ok := Signal(text); ok {
		return sig
	}
	s.wrong(key, "a signal's name or number")
	return fallback
}

// user reads USER or USER:GROUP. With a group, the user is in no other.
func (s *scope) user(key string) *User {
	text, ok := s.text(key)
	if !ok {
		return nil
	}
	name, group, grouped := strings.Cut(text, ":")
	user, err := s.users.user(name)
	if err == nil && grouped {
		user.GID, err = s.users.gid(group)
		user.Groups = []int{user.GID}
	}
	if err != nil {
		s.problem(key, "%s %s", key, err)
		return nil
	}
	return user
}

// list reads words that are separated by commas.
func (s *scope) list(key string) []string {
	text, ok := s.text(key)
	if !ok || strings.TrimSpace(text) == "" {
		return nil
	}
	list := strings.Split(text, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// environment reads KEY="value" pairs; no message shows a value.
func (s *scope) environment(key string) map[string]string {
	text, ok := s.text(key)
	if !ok {
		return map[string]string{}
	}
	set, odd, err := pairs(text)
	if err != nil {
		s.problem(key, "%s %s", key, err)
		return map[string]string{}
	}
	for _, name := range odd {
		s.warn(key, "%s sets %s to a value that ends at a character other than a comma; quote the value", key, name)
	}
	return set
}

// path makes a path absolute; ~ and ~user stand for a home folder.
func (s *scope) path(text string) string {
	if strings.HasPrefix(text, "~") {
		name, rest, _ := strings.Cut(text[1:], "/")
		home, ok := s.parser.env["HOME"]
		if name != "" {
			home, ok = s.users.home(name)
		}
		if ok {
			text = path.Join(home, rest)
		}
	}
	return s.absolute(text)
}

func (s *scope) absolute(text string) string {
	if path.IsAbs(text) {
		return path.Clean(text)
	}
	return path.Join("/", s.o.Dir, text)
}

// finish warns of keys of the section that were not read.
func (s *scope) finish() {
	for _, key := range s.sec.own {
		if s.used[key] {
			continue
		}
		if strings.HasPrefix(key, "toskose_") {
			s.problem(key, "%s is not a key of this section", key)
		} else {
			s.warn(key, "%s is not a key that Supervisor knows; it is ignored", key)
		}
	}
}

// checkName returns the error in the name of a process or group, or "".
func checkName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case strings.ContainsAny(name, " :/"):
		return "has a space, a colon or a slash in it"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "has a control character in it"
	}
	return ""
}
