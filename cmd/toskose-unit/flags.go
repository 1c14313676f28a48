package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// option is one of supervisord's options.
type option struct {
	short byte   // 0 if it has none
	name  string // the long form; also the overridden key of [supervisord]
	value bool   // takes a value
}

var options = []option{
	{'c', "configuration", true},
	{'n', "nodaemon", false},
	{'s', "silent", false},
	{'h', "help", false},
	{'?', "", false},
	{'v', "version", false},
	{'u', "user", true},
	{'m', "umask", true},
	{'d', "directory", true},
	{'l', "logfile", true},
	{'y', "logfile_maxbytes", true},
	{'z', "logfile_backups", true},
	{'e', "loglevel", true},
	{'j', "pidfile", true},
	{'i', "identifier", true},
	{'q', "childlogdir", true},
	{'k', "nocleanup", false},
	{'a', "minfds", true},
	{'t', "strip_ansi", false},
	{0, "minprocs", true},
	{0, "profile_options", true},
}

// flags is a command line compatible with supervisord's.
type flags struct {
	file      string            // of -c; may be empty
	overrides map[string]string // for keys of [supervisord]
	help      bool
	version   bool
}

// parseFlags parses options by the rules of Python's getopt: short options may be combined, a value
// may be attached, and a long option may be abbreviated to a unique prefix.
func parseFlags(args []string) (flags, error) {
	f := flags{overrides: map[string]string{}}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		var err error
		switch {
		case arg == "--" && len(args) == 0:
			return f, nil
		case arg == "--" || len(arg) < 2 || arg[0] != '-':
			if arg != "--" {
				args = append([]string{arg}, args...)
			}
			return f, fmt.Errorf("too many arguments: %s", strings.Join(args, " "))
		case strings.HasPrefix(arg, "--"):
			args, err = f.long(arg[2:], args)
		default:
			args, err = f.short(arg[1:], args)
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// long parses the option --text and returns the remaining arguments.
func (f *flags) long(text string, args []string) ([]string, error) {
	name, value, assigned := strings.Cut(text, "=")
	var found []option
	for _, o := range options {
		if o.name == name {
			found = []option{o}
			break
		}
		if o.name != "" && strings.HasPrefix(o.name, name) {
			found = append(found, o)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("unknown flag --%s", name)
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("--%s may be --%s or --%s", name, found[0].name, found[1].name)
	}
	o := found[0]
	switch {
	case !o.value && assigned:
		return nil, fmt.Errorf("--%s takes no value", o.name)
	case o.value && !assigned:
		if len(args) == 0 {
			return nil, fmt.Errorf("--%s needs a value", o.name)
		}
		value, args = args[0], args[1:]
	}
	return args, f.set("--"+o.name, o, value)
}

// short parses one or more options, -text, and returns the remaining arguments.
func (f *flags) short(text string, args []string) ([]string, error) {
	for text != "" {
		letter := text[0]
		text = text[1:]
		var o option
		for _, known := range options {
			if known.short == letter {
				o = known
			}
		}
		if o.short == 0 {
			return nil, fmt.Errorf("unknown flag -%c", letter)
		}
		value := ""
		if o.value {
			if value, text = text, ""; value == "" {
				if len(args) == 0 {
					return nil, fmt.Errorf("-%c needs a value", letter)
				}
				value, args = args[0], args[1:]
			}
		}
		if err := f.set(string([]byte{'-', letter}), o, value); err != nil {
			return nil, err
		}
	}
	return args, nil
}

func (f *flags) set(as string, o option, value string) error {
	if !o.value {
		value = "true"
	}
	switch o.name {
	case "help", "":
		f.help = true
		return nil
	case "version":
		f.version = true
		return nil
	case "configuration":
		if f.file != "" {
			return fmt.Errorf("%s is given twice", as)
		}
		f.file = value
		return nil
	}
	if _, again := f.overrides[o.name]; again {
		return fmt.Errorf("%s is given twice", as)
	}
	if o.name != "profile_options" { // of Python's profiler; not a key
		f.overrides[o.name] = value
	}
	return nil
}

// configuration returns the file of -c, or the first existing one of the packager's and
// supervisord's default paths.
func (f *flags) configuration(s system) (string, error) {
	if f.file != "" {
		return f.file, nil
	}
	above := filepath.Dir(filepath.Dir(executable(s.program, s.env)))
	paths := []string{
		defaultConfig,
		filepath.Join(above, "etc/supervisord.conf"), filepath.Join(above, "supervisord.conf"),
		"supervisord.conf", "etc/supervisord.conf",
		"/etc/supervisord.conf", "/etc/supervisor/supervisord.conf",
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("cannot find a configuration: none of %s exists; use -c FILE", strings.Join(paths, ", "))
}

// executable returns the path by which this program was called.
func executable(program string, env map[string]string) string {
	if strings.Contains(program, "/") {
		return program
	}
	for _, dir := range filepath.SplitList(env["PATH"]) {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return program
}
