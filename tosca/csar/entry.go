package csar

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/tosca/diag"
)

// metaPath is the path of TOSCA.meta (TOSCA 1.3, 6.2). Since 2.0 it may be in the root
// instead (TOSCA 2.0, 17.1).
const (
	metaPath = "TOSCA-Metadata/TOSCA.meta"
	rootMeta = "TOSCA.meta"
)

// findEntry finds the entry definition: by TOSCA.meta, or else as the only YAML file in
// the root. In a zip that file needs the metadata of CSAR 1.1. A directory may still be
// incomplete.
func (a *Archive) findEntry(strict bool) error {
	if err := a.lookForEntry(strict); err != nil {
		return err
	}
	if _, err := a.Stat(a.entry); err != nil { // a zip's directory may list missing files
		return problem(codeDamaged, a.entry, fmt.Sprintf("cannot be read (%s)", err))
	}
	return nil
}

func (a *Archive) lookForEntry(strict bool) error {
	at := metaPath
	if a.IsFile(rootMeta) {
		if a.IsFile(metaPath) {
			return problem(codeMeta, "", "has two of "+rootMeta+": one at its root, and "+metaPath)
		}
		at = rootMeta
	}
	data, err := a.ReadFile(at, 1<<20)
	switch {
	case err == nil:
		if err := a.entryByMeta(at, string(data)); err != nil || a.entry != "" {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return a.entryAtRoot(strict)
}

// configuration is the name of the file that configures packaging, which is no entry definition.
const configuration = "toskose.yml"

// entryAtRoot returns the only YAML file in the root.
func (a *Archive) entryAtRoot(strict bool) error {
	found, err := a.rootYAML()
	if err != nil {
		return err
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(name string) bool { return path.Base(name) == configuration })
	}
	switch len(found) {
	case 0:
		return problem(codeNoEntry, "", "has no entry definition: neither "+metaPath+" nor a YAML file at its root"+a.inFolder())
	case 1:
		a.entry = found[0]
		if strict && !a.hasMetadata(a.entry) {
			return problem(codeMetadata, a.entry,
				"needs template_name and template_version under metadata to be the entry of an archive without "+metaPath)
		}
		return nil
	}
	named := slices.DeleteFunc(slices.Clone(found), func(name string) bool { return !a.hasMetadata(name) })
	if len(named) != 1 {
		return problem(codeManyEntries, "", fmt.Sprintf(
			"has %d YAML files at its root (%s): say in %s which is the entry definition",
			len(found), strings.Join(found, ", "), metaPath))
	}
	a.entry = named[0]
	return nil
}

// inFolder explains a common mistake: the folder was zipped, not its content.
func (a *Archive) inFolder() string {
	all, err := a.ReadDir(".")
	if err != nil || len(all) != 1 || !all[0].IsDir() {
		return ""
	}
	return fmt.Sprintf(" (everything is in folder %q: zip its content)", all[0].Name()+"/")
}

func (a *Archive) rootYAML() ([]string, error) {
	all, err := a.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("cannot list %q: %w", a.name, err)
	}
	var found []string
	for _, d := range all {
		if d.Type().IsRegular() && IsYAML(d.Name()) {
			found = append(found, d.Name())
		}
	}
	return found, nil
}

// maxEntry bounds the YAML read to find the entry definition.
const maxEntry = 32 << 20

// hasMetadata reports whether a file has template_name and template_version. It is also
// true for invalid YAML, so that the parser reports the error.
func (a *Archive) hasMetadata(name string) bool {
	data, err := a.ReadFile(name, maxEntry)
	if err != nil {
		return true
	}
	if ofSecond.Match(data) { // optional since 2.0 (TOSCA 2.0, 17.3)
		return true
	}
	found := metadataKeys(string(data))
	return found == nil || (found["template_name"] && found["template_version"])
}

// ofSecond matches the version line of a TOSCA 2.0 document.
var ofSecond = regexp.MustCompile(`(?m)^tosca_definitions_version:[ \t]*["']?tosca_2_0\b`)

// metadataKeys returns the keys of `metadata:` from the lines of a document. It parses
// nothing else, as the document may be hostile.
func metadataKeys(doc string) map[string]bool {
	var block strings.Builder
	inside := false
	for line := range strings.Lines(doc) {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") || strings.TrimSpace(line) == "" || line[0] == '#'
		if !indented {
			inside = strings.HasPrefix(line, "metadata:") || strings.HasPrefix(line, "template_")
		}
		if inside && block.Len()+len(line) <= 64<<10 {
			block.WriteString(line)
		}
	}
	var top struct {
		Metadata map[string]yaml.Node `yaml:"metadata"`
		Rest     map[string]yaml.Node `yaml:",inline"`
	}
	if err := yaml.Unmarshal([]byte(block.String()), &top); err != nil {
		return nil
	}
	keys := map[string]bool{}
	for k := range top.Metadata {
		keys[k] = true
	}
	for k := range top.Rest { // as in early drafts
		keys[k] = true
	}
	return keys
}

// Meta is the first block of TOSCA.meta.
type Meta struct {
	FileVersion string   // TOSCA-Meta-File-Version, or TOSCA-Meta-Version in TOSCA 1.0, 16.2
	CSARVersion string   // CSAR-Version
	CreatedBy   string   // Created-By
	Entry       string   // Entry-Definitions
	Others      []string // Other-Definitions
}

// metaFile is TOSCA.meta with its problems.
type metaFile struct {
	archive string
	path    string
	lines   []string
	fields  map[string]metaField
	bad     diag.List
}

// metaField is a value with its position, from 1.
type metaField struct {
	text         string
	line, column int
}

func (m *metaFile) problem(code string, line, column int, sentence string) {
	d := diag.Diagnostic{
		Position: diag.Position{File: m.path, Line: line, Column: column}, Code: code,
		Message: fmt.Sprintf("%q of %s %s", m.path, m.archive, sentence),
	}
	if line > 0 {
		d.Text = m.lines[line-1]
	}
	m.bad = append(m.bad, d)
}

// about reports a problem of a field, with its position if it exists.
func (m *metaFile) about(code, key, sentence string) {
	at := m.fields[key]
	m.problem(code, at.line, at.column, sentence)
}

// entryByMeta reads TOSCA.meta. In 2.0 it need not name the entry definition, which is
// then the file in the root (TOSCA 2.0, 17.1).
func (a *Archive) entryByMeta(at, text string) error {
	m := parseMeta(a.name, at, text)
	if len(m.bad) > 0 {
		return m.bad
	}
	value := func(key string) string { return m.fields[key].text }
	a.meta = Meta{
		FileVersion: cmp.Or(value("TOSCA-Meta-File-Version"), value("TOSCA-Meta-Version")),
		CSARVersion: value("CSAR-Version"),
		CreatedBy:   value("Created-By"),
		Entry:       a.entryName(value("Entry-Definitions")),
		Others:      fileNames(value("Other-Definitions")),
	}
	m.versions(a.meta)
	switch {
	case a.meta.Entry != "":
		a.mustHave(m, "Entry-Definitions", a.meta.Entry)
		a.entry = path.Clean(a.meta.Entry)
	case a.meta.CSARVersion != "2.0":
		m.about(codeNoEntry, "Entry-Definitions", "names no Entry-Definitions")
	}
	for _, name := range a.meta.Others {
		a.mustHave(m, "Other-Definitions", name)
	}
	if len(m.bad) > 0 {
		return m.bad
	}
	return nil
}

// entryName returns the path of the entry, which may be in quotes, or begin with the
// archive's root.
func (a *Archive) entryName(text string) string {
	if names := fileNames(text); len(names) == 1 {
		text = names[0]
	}
	return strings.TrimPrefix(text, "./")
}

func (m *metaFile) versions(meta Meta) {
	const known, fileKnown = "; 1.0, 1.1 and 2.0 are known", "; 1.0 and 1.1 are known"
	switch version := meta.CSARVersion; version {
	case "2.0": // without TOSCA-Meta-File-Version (TOSCA 2.0, 17.2.1)
		return
	case "":
		m.about(codeMetaVersion, "CSAR-Version", "has no CSAR-Version"+known)
	case "1.0", "1.1":
	default:
		m.about(codeMetaVersion, "CSAR-Version", fmt.Sprintf("has CSAR-Version %q", version)+known)
	}
	switch version := meta.FileVersion; version {
	case "":
		m.about(codeMetaVersion, "TOSCA-Meta-File-Version", "has no TOSCA-Meta-File-Version"+fileKnown)
	case "1.0", "1.1":
	default:
		key := "TOSCA-Meta-File-Version"
		if m.fields[key].text == "" {
			key = "TOSCA-Meta-Version"
		}
		m.about(codeMetaVersion, key, fmt.Sprintf("has %s %q", key, version)+fileKnown)
	}
}

// mustHave reports a path in TOSCA.meta that is not a file of the archive.
func (a *Archive) mustHave(m *metaFile, key, name string) {
	if code, fault := nameFault(name); code != "" {
		m.about(code, key, fmt.Sprintf("names %q, which %s", name, fault))
		return
	}
	info, err := a.Stat(name)
	var bad diag.List
	switch {
	case errors.Is(err, fs.ErrNotExist):
		m.about(codeNoEntry, key, fmt.Sprintf("names %q, which is not in the archive", name))
	case errors.As(err, &bad): // a link, or too large
		m.about(bad[0].Code, key, "names a file that cannot be read: "+bad[0].Message)
	case err != nil:
		m.about(codeDamaged, key, fmt.Sprintf("names %q, which cannot be read (%s)", name, err))
	case info.IsDir():
		m.about(codeNoEntry, key, fmt.Sprintf("names %q, which is a folder", name))
	}
}

// fileNames splits names at blanks, except within double quotes (TOSCA 1.3, 6.2).
func fileNames(list string) []string {
	var all []string
	for i, part := range strings.Split(list, `"`) {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

// parseMeta parses the first block: `Key: value` lines up to an empty one. A line that
// begins with a space continues the line before. Line ends may be of any system.
func parseMeta(archive, at, text string) *metaFile {
	m := &metaFile{archive: archive, path: at, fields: map[string]metaField{}}
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		m.problem(codeMeta, 0, 0, "is written in UTF-16, and must be in UTF-8")
		return m
	}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, "\uFEFF"))
	m.lines = strings.Split(text, "\n")
	last := ""
	for i, line := range m.lines {
		key, value, ok := strings.Cut(line, ":")
		key = strings.TrimSpace(key)
		first, more := m.fields[last]
		switch {
		case len(line) > 64<<10:
			m.lines[i] = ""
			m.problem(codeMeta, i+1, 0, "has a line that is too long")
			return m
		case strings.TrimSpace(line) == "" && len(m.fields) > 0:
			return m
		case strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, " ") && more:
			first.text = strings.TrimSpace(first.text + " " + strings.TrimSpace(line))
			m.fields[last] = first
		case !ok || key == "":
			m.problem(codeMeta, i+1, 1, fmt.Sprintf("has no \"Key: value\" in line %d", i+1))
		default:
			if _, twice := m.fields[key]; twice {
				m.problem(codeMeta, i+1, 1, fmt.Sprintf("has %s twice", key))
				continue
			}
			last = key
			before := line[:len(line)-len(strings.TrimLeft(value, " \t"))]
			m.fields[key] = metaField{text: strings.TrimSpace(value), line: i + 1, column: utf8.RuneCountInString(before) + 1}
		}
	}
	return m
}
