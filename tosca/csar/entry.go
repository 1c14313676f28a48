package csar

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// metaPath is where TOSCA.meta lies (TOSCA 1.3, 6.2). Since 2.0 it may lie at the
// root instead (TOSCA 2.0, 17.1).
const (
	metaPath = "TOSCA-Metadata/TOSCA.meta"
	rootMeta = "TOSCA.meta"
)

// findEntry finds the entry definition by TOSCA.meta, or else as the one YAML
// file at the root. Of a zip that file must have the metadata that CSAR 1.1
// asks for; a directory is also what someone is still writing.
func (a *Archive) findEntry(strict bool) error {
	if err := a.lookForEntry(strict); err != nil {
		return err
	}
	if _, err := a.Stat(a.entry); err != nil { // a zip's directory may promise what is not there
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

// entryAtRoot finds the one YAML file at the root.
func (a *Archive) entryAtRoot(strict bool) error {
	found, err := a.rootYAML()
	if err != nil {
		return err
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

// inFolder explains the commonest mistake: the folder was zipped, not what is in it.
func (a *Archive) inFolder() string {
	all, err := a.ReadDir(".")
	if err != nil || len(all) != 1 || !all[0].IsDir() {
		return ""
	}
	return fmt.Sprintf(" (everything is below %q: zip what is in that folder)", all[0].Name()+"/")
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

// maxEntry bounds the YAML that is read to find the entry definition.
const maxEntry = 32 << 20

// hasMetadata reports whether a file has template_name and template_version. A
// file that is not YAML has them too, so that reading it properly says what is
// wrong with it.
func (a *Archive) hasMetadata(name string) bool {
	data, err := a.ReadFile(name, maxEntry)
	if err != nil {
		return true
	}
	if ofSecond.Match(data) { // since 2.0 no metadata is needed (TOSCA 2.0, 17.3)
		return true
	}
	found := metadataKeys(string(data))
	return found == nil || (found["template_name"] && found["template_version"])
}

// ofSecond tells a document of TOSCA 2.0 by its first line.
var ofSecond = regexp.MustCompile(`(?m)^tosca_definitions_version:[ \t]*["']?tosca_2_0\b`)

// metadataKeys reads the keys below `metadata:` of a document by its lines,
// and nothing else of it: the document may be hostile, and whoever reads it as
// a whole reports on it with positions.
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
	for k := range top.Rest { // where early drafts had them
		keys[k] = true
	}
	return keys
}
