package attach

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Limits of reading supervisord.conf and the files that it includes.
const (
	maxConf     = 256 << 10 // bytes of a file
	maxIncluded = 64        // files
)

// configuration is the content of the files of supervisord. Files that a container writes when it
// starts are not known.
type configuration struct {
	known bool     // the files exist, and name all ports
	ports []int    // of inet_http_server sections
	notes []string // what the unit does not do
}

// configuration reads supervisord.conf, if the image has it.
func (l *looker) configuration(s start, supervisord []string) (configuration, error) {
	var c configuration
	for _, name := range append(slices.Clone(s.confs), l.usualConfs(supervisord)...) {
		sections, err := l.sections(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return c, err
		}
		c.known = true
		c.add(sections)
		included, err := l.included(path.Dir(name), sections)
		if err != nil {
			return c, err
		}
		for _, file := range included {
			if sections, err = l.sections(file); err != nil {
				return c, err
			}
			c.add(sections)
		}
		break
	}
	return c, nil
}

// usualConfs returns the paths at which supervisord searches for its configuration.
func (l *looker) usualConfs(supervisord []string) (names []string) {
	folder := path.Join("/", l.contents.Folder, l.service.WorkingDir)
	if path.IsAbs(l.service.WorkingDir) {
		folder = l.service.WorkingDir
	}
	for _, file := range supervisord {
		prefix := path.Dir(path.Dir(file))
		names = append(names, path.Join(prefix, "etc/supervisord.conf"), path.Join(prefix, "supervisord.conf"))
	}
	return append(names, path.Join(folder, "supervisord.conf"), path.Join(folder, "etc/supervisord.conf"),
		"/etc/supervisord.conf", "/etc/supervisor/supervisord.conf")
}

// section is a section of supervisord.conf.
type section struct {
	name string
	keys map[string]string
}

// sections reads a file of the image. Only single lines are kept of values.
func (l *looker) sections(name string) ([]section, error) {
	file, err := l.contents.Files.Stat(l.ctx, name)
	if err != nil {
		return nil, err
	}
	if !file.Mode.IsRegular() {
		return nil, fs.ErrNotExist
	}
	data, err := l.contents.Files.Read(l.ctx, file.Path, maxConf)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	return parseSections(string(data)), nil
}

func parseSections(text string) (all []section) {
	key := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\r\n"), " ;")
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.ContainsAny(trimmed[:1], "#;"):
		case strings.HasPrefix(trimmed, "[") && strings.HasSuffix(trimmed, "]"):
			all = append(all, section{name: trimmed[1 : len(trimmed)-1], keys: map[string]string{}})
			key = ""
		case len(all) == 0:
		case line[0] == ' ' || line[0] == '\t': // the value continues
			if key != "" {
				all[len(all)-1].keys[key] += " " + trimmed
			}
		default:
			at := strings.IndexAny(trimmed, "=:")
			if at < 0 {
				continue
			}
			key = strings.ToLower(strings.TrimSpace(trimmed[:at]))
			all[len(all)-1].keys[key] = strings.TrimSpace(trimmed[at+1:])
		}
	}
	return all
}

// included returns the files that include sections name.
func (l *looker) included(folder string, sections []section) (files []string, err error) {
	for _, s := range sections {
		if s.name != "include" {
			continue
		}
		for _, pattern := range strings.Fields(s.keys["files"]) {
			pattern = strings.ReplaceAll(pattern, "%(here)s", folder)
			if !path.IsAbs(pattern) {
				pattern = path.Join(folder, pattern)
			}
			dir, base := path.Split(pattern)
			names, err := l.contents.Files.List(l.ctx, path.Clean(dir))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("cannot list %s: %w", dir, err)
			}
			for _, name := range names {
				if ok, _ := path.Match(base, name); ok && len(files) < maxIncluded { // a bad pattern matches nothing
					files = append(files, dir+name)
				}
			}
		}
	}
	return files, nil
}

// Values that the unit implements.
const (
	builtinRPC    = "supervisor.rpcinterface:make_main_rpcinterface"
	defaultResult = "supervisor.dispatchers:default_handler"
	stdoutResult  = "supervisor_stdout:event_handler" // copies results to the output, as the unit does
)

// add notes the features that sections use and the unit does not have.
func (c *configuration) add(sections []section) {
	for _, s := range sections {
		kind, name, _ := strings.Cut(s.name, ":")
		switch kind {
		case "inet_http_server":
			port, ok := portOf(s.keys["port"])
			c.ports, c.known = append(c.ports, port), c.known && ok
		case "rpcinterface":
			if factory := s.keys["supervisor.rpcinterface_factory"]; factory != "" && factory != builtinRPC {
				c.notes = append(c.notes, fmt.Sprintf("the plugin %s is not loaded: calls of %s.* are faults", factory, name))
			}
		case "eventlistener":
			if handler := s.keys["result_handler"]; handler != "" && handler != defaultResult && handler != stdoutResult {
				c.notes = append(c.notes, fmt.Sprintf("the result_handler %s of event listener %s is not loaded: any result accepts an event", handler, name))
			}
		}
	}
}

// portOf returns the port of an inet_http_server: PORT, :PORT, *:PORT or HOST:PORT.
func portOf(text string) (int, bool) {
	port, err := strconv.Atoi(text[strings.LastIndex(text, ":")+1:])
	return port, err == nil
}
