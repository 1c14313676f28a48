package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/toskose/toskose/spec"
)

// Options are the inputs of a configuration besides its files.
type Options struct {
	FS   fs.FS             // the file system, rooted at "/": the configuration, includes, /etc/passwd
	Dir  string            // absolute folder that relative paths start from; empty: "/"
	Env  map[string]string // for %(ENV_x)s
	Host string            // for %(host_node_name)s

	// Overrides are values of [supervisord]'s keys that take precedence over the
	// file's, from the command line. Nothing in them is expanded.
	Overrides map[string]string
}

// Load reads a configuration of this machine. Relative paths in it are relative to the working
// directory. The error is Problems, or the reason why the file cannot be read.
func Load(file string, env map[string]string) (*Config, []Warning, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	return LoadFrom(dir, file, env, nil)
}

// LoadFrom is Load with another working directory: the unit's at its start. overrides are
// Options.Overrides.
func LoadFrom(dir, file string, env, overrides map[string]string) (*Config, []Warning, error) {
	absolute := file
	if !filepath.IsAbs(file) {
		absolute = filepath.Join(dir, file)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read %s: the host has no name: %w", file, err)
	}
	return Parse(absolute, Options{FS: os.DirFS("/"), Dir: dir, Env: env, Host: host, Overrides: overrides})
}

// Parse reads the configuration at an absolute path of o.FS. It returns warnings with and without
// an error. It does not check that directories exist: log directories are created when needed, and
// the directories of programs are checked when the programs start.
func Parse(file string, o Options) (*Config, []Warning, error) {
	p := &parser{
		o: o, file: path.Clean(file), doc: newDocument(), report: &report{},
		env: maps.Clone(o.Env), users: readUsers(o.FS), config: &Config{File: path.Clean(file)}, digest: sha256.New(), container: &spec.Container{},
	}
	if p.env == nil {
		p.env = map[string]string{}
	}
	if err := p.readFile(p.file); err != nil {
		return nil, nil, fmt.Errorf("cannot read %s: %w", p.file, reason(err))
	}
	p.include()
	p.readContainer()
	p.doc.finish()
	p.sections()
	warnings, err := p.report.result()
	if err != nil {
		return nil, warnings, err
	}
	p.config.Digest = hex.EncodeToString(p.digest.Sum(nil))
	return p.config, warnings, nil
}

// reason strips the path from an error that is shown next to it.
func reason(err error) error {
	if pathError, ok := err.(*fs.PathError); ok { //nolint:errorlint // the outermost one is what is cut
		return pathError.Err
	}
	return err
}

func (p *parser) readFile(file string) error {
	data, err := fs.ReadFile(p.o.FS, inFS(file))
	if err != nil {
		return err
	}
	p.report.files = append(p.report.files, file)
	p.digest.Write(data)
	(&iniReader{doc: p.doc, report: p.report, file: file, here: path.Dir(file)}).read(string(data))
	return nil
}

// inFS converts an absolute path to the form that fs.FS takes.
func inFS(file string) string {
	if file = strings.TrimPrefix(path.Clean(file), "/"); file != "" {
		return file
	}
	return "."
}

// include reads the files of the main file's [include]. Those cannot include
// others.
func (p *parser) include() {
	sec, ok := p.doc.sections["include"]
	if !ok {
		return
	}
	s := p.scope(sec)
	text, ok := s.text("files")
	if _, set := s.written("files"); !set {
		s.problem("files", "lacks files")
	}
	s.finish()
	if !ok {
		return
	}
	at := sec.keys["files"]
	if at == nil {
		at = p.doc.defaults.keys["files"]
	}
	for _, pattern := range strings.Fields(text) {
		if !path.IsAbs(pattern) {
			pattern = path.Join(path.Dir(p.file), pattern)
		}
		p.includePattern(at, pattern)
	}
	if now := sec.keys["files"]; now != nil && now != at {
		p.report.warn(p.file, sec.line, "[include] of a file that is itself included is ignored")
	}
}

func (p *parser) includePattern(at *value, pattern string) {
	// Python negates a character class with `!`, Go with `^`.
	matches, err := fs.Glob(p.o.FS, strings.ReplaceAll(inFS(pattern), "[!", "[^"))
	if err != nil {
		p.report.problem(at.file, at.line(), "[include] files has a malformed pattern: %s", pattern)
		return
	}
	found := false
	for _, match := range matches { // sorted by folder, then by name
		if strings.HasPrefix(path.Base(match), ".") && !strings.HasPrefix(path.Base(pattern), ".") {
			continue
		}
		found = true
		if err := p.readFile("/" + match); err != nil {
			p.report.problem(at.file, at.line(), "[include] cannot include /%s: %s", match, reason(err))
		}
	}
	if !found {
		p.report.warn(at.file, at.line(), "[include] files names %s, which matches no file", pattern)
	}
}

// sections reads every section of the document.
func (p *parser) sections() {
	if sec, ok := p.doc.sections["supervisord"]; ok {
		p.supervisord(sec)
	} else {
		p.report.problem(p.file, 0, "there is no [supervisord] section")
	}
	for _, sec := range p.doc.all() {
		kind, name, hasName := strings.Cut(sec.name, ":")
		switch {
		case sec.name == "supervisord", sec.name == "include", kind == "group" && hasName, kind == "program" && hasName, kind == "fcgi-program" && hasName:
			// read above, or below together
		case strings.HasPrefix(sec.name, "inet_http_server"):
			p.inetServer(sec)
		case strings.HasPrefix(sec.name, "unix_http_server"):
			p.unixServer(sec)
		case sec.name == "supervisorctl":
			s := p.scope(sec)
			s.accept("serverurl", "username", "password", "prompt", "history_file")
			s.finish()
		case kind == "rpcinterface" && hasName:
			p.rpcInterface(sec, name)
		case kind == "eventlistener" && hasName:
			p.listener(sec, name)
		case kind == "ctlplugin" && hasName: // supervisorctl's own
		case kind == "toskose":
			p.toskoseSection(sec, name)
		default:
			p.report.warn(sec.file, sec.line, "[%s] is not a section that Supervisor knows; it is ignored", sec.name)
		}
	}
	p.groups()
	p.components()
	p.order()
	p.resolveOrder()
	p.resolveDependent()
}
