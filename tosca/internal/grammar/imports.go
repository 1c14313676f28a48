package grammar

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

var (
	toskerTypes  = regexp.MustCompile(`^(tosker-types.*|tosker)\.ya?ml$`)
	toskoseTypes = regexp.MustCompile(`^toskose-types\.ya?ml$`)
	hasScheme    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`)
	// The Simple Profile, which documents of 2.0 import by name (TOSCA 2.0, 6.7.2).
	simpleProfile = regexp.MustCompile(`^org\.oasis-open\.(tosca\.)?simple(:.*)?$`)
	definesName   = regexp.MustCompile(`(?m)^["']?profile["']?[ \t]*:[ \t]*(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'#][^\r\n]*?))[ \t]*(?:[ \t]#[^\n]*)?\r?$`)
)

// missingImport reports a missing import as a warning: the document is not at fault, but
// definitions are unknown.
func (l *loader) missingImport(doc *Document, i Import, code, format string, args ...any) {
	doc.open = true
	l.Warnf(i.Pos, code, format, args...)
}

// resolve returns the document that an import names, or nil with a diagnostic.
func (l *loader) resolve(doc *Document, i Import) (*Document, error) {
	if i.Profile != "" {
		return l.profile(doc, i)
	}
	if toskerTypes.MatchString(path.Base(i.File)) {
		return l.tosker(doc, i)
	}
	if toskoseTypes.MatchString(path.Base(i.File)) {
		return l.builtin(toskoseFile), nil
	}
	if doc.Version != version20 && (strings.HasPrefix(i.File, "tosca_simple_yaml_1_") || namespaceURI.MatchString(i.File)) {
		return l.builtin(normativeFile), nil // by its namespace (TOSCA 1.3, 3.6.8.2.4)
	}
	switch repo := doc.Repositories[i.Repository]; {
	case i.Repository != "" && repo == nil:
		doc.open = true
		l.Unknown(i.Pos, code.ImportRepo, i.Repository, keys(doc.Repositories), "import %q: unknown repository %q", i.File, i.Repository)
		return nil, nil
	case i.Repository != "":
		l.missingImport(doc, i, code.ImportFetch, "import %q is in repository %q, and nothing is fetched: names that it may define are not checked", i.File, i.Repository)
		return nil, nil
	case hasScheme.MatchString(i.File):
		l.missingImport(doc, i, code.ImportFetch, "import %q is a URL, and nothing is fetched: names that it may define are not checked", i.File)
		return nil, nil
	}
	name, ok := Within(doc.File, i.File)
	if !ok && l.lone {
		name, ok = outside(doc.File, i.File)
	}
	if !ok && l.lone {
		l.missingImport(doc, i, code.Import, "import %q is outside of the folder of the template, and not a YAML file: names that it may define are not checked", i.File)
		return nil, nil
	}
	if !ok {
		doc.open = true
		l.Errorf(i.Pos, code.Import, "import %q leaves the archive", i.File)
		return nil, nil
	}
	return l.imported(doc, i, name)
}

// tosker returns TosKer's types. Published copies have errors, so only definitions that
// the embedded file lacks are read from a copy.
func (l *loader) tosker(doc *Document, i Import) (*Document, error) {
	types := l.builtin(toskerFile)
	name, ok := Within(doc.File, i.File)
	if !ok && l.lone {
		name, ok = outside(doc.File, i.File)
	}
	if !ok || hasScheme.MatchString(i.File) || i.Repository != "" {
		return types, nil
	}
	if own, read := l.docs[name]; read {
		return own, nil
	}
	data, err := l.archive.ReadFile(name, source.MaxBytes)
	if err != nil {
		return types, nil //nolint:nilerr // a missing or unreadable copy is not needed
	}
	own := l.without(name, data, types)
	l.docs[name] = own
	l.order = append(l.order, own)
	return own, nil
}

// without reads a document without the types that another one defines. Additional
// members of those types are added to the other document.
func (l *loader) without(name string, data []byte, types *Document) *Document {
	root, bad := source.ParseWith(name, data, source.Options{ListKeys: listKeys})
	l.Add(bad...)
	text, err := embedded.ReadFile(toskerFile)
	theirs, _ := source.Parse(path.Base(toskerFile), text)
	if root == nil || root.Kind != source.Map || err != nil || theirs == nil {
		return &Document{File: name, open: true}
	}
	added := false
	for i, section := range root.Items {
		known := theirs.Get(root.Keys[i].Text)
		if !strings.HasSuffix(root.Keys[i].Text, "_types") || section.IsNull() || section.Kind != source.Map || known == nil {
			continue
		}
		var keys, items []*source.Node
		for k, v := range section.Pairs() {
			j := slices.IndexFunc(known.Keys, func(name *source.Node) bool { return name.Text == k.Text })
			switch {
			case j < 0:
				keys, items = append(keys, k), append(items, v)
			case !v.IsNull() && v.Kind == source.Map:
				made, more := merged(known.Items[j], v, parts)
				known.Items[j], added = made, added || more
			}
		}
		root.Items[i] = source.At(source.Map, keys, items, section)
	}
	own := readDocument(l.Collector, name, false, root)
	if added {
		made := readDocument(l.Collector, types.File, true, theirs)
		made.imported = []importedDoc{{doc: own}}
		l.embedded = maps.Clone(l.embedded)
		l.replaceBuiltin(toskerFile, made)
		if ours, err := embedded.ReadFile(toskoseFile); err == nil {
			derived := read(l.Collector, path.Base(toskoseFile), ours, true)
			derived.imported = []importedDoc{{doc: made}}
			l.replaceBuiltin(toskoseFile, derived)
		}
	}
	own.imported = []importedDoc{{doc: l.embedded[toskerFile]}}
	return own
}

// replaceBuiltin replaces an embedded document, also in earlier imports.
func (l *loader) replaceBuiltin(name string, made *Document) {
	was := l.embedded[name]
	l.embedded[name] = made
	for _, doc := range l.order {
		for i := range doc.imported {
			if doc.imported[i].doc == was {
				doc.imported[i].doc = made
			}
		}
	}
}

// parts are the keywords whose entries are merged.
var parts = []string{"properties", "attributes", "capabilities", "interfaces"}

// merged returns a map with the additional entries of another one, or nil if there are
// none.
func merged(to, from *source.Node, known []string) (made *source.Node, added bool) {
	names, items := slices.Clone(to.Keys), slices.Clone(to.Items)
	for k, v := range from.Pairs() {
		i := slices.IndexFunc(names, func(name *source.Node) bool { return name.Text == k.Text })
		switch {
		case known != nil && (!slices.Contains(known, k.Text) || v.IsNull() || v.Kind != source.Map):
		case i < 0:
			names, items, added = append(names, k), append(items, v), true
		case known != nil && !items[i].IsNull() && items[i].Kind == source.Map:
			part, more := merged(items[i], v, nil)
			items[i], added = part, added || more
		}
	}
	return source.At(source.Map, names, items, to), added
}

// imported reads an imported file. A missing or invalid file is an error; the names that
// it may define are not reported again.
func (l *loader) imported(doc *Document, i Import, name string) (*Document, error) {
	if len(l.docs) >= maxFiles {
		l.Errorf(i.Pos, code.TooManyFiles, "import %q: at most %d files are imported", i.name(), maxFiles)
		return nil, nil
	}
	target, err := l.file(name)
	doc.open = doc.open || err != nil
	var bad diag.List
	switch {
	case errors.Is(err, fs.ErrNotExist) && l.lone && strings.HasPrefix(i.File, "/"):
		l.missingImport(doc, i, code.Import, "import %q begins at the root of a repository, which the folder of the template is not: names that it may define are not checked", i.File)
		return nil, nil
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid):
		l.reportMissingFile(doc, i, name)
		return nil, nil
	case errors.As(err, &bad):
		for _, d := range bad {
			l.Errorf(i.Pos, d.Code, "import %q cannot be read: %s", i.name(), d.Message)
		}
		return nil, nil
	case err != nil:
		var cause *fs.PathError // a folder, or no permission
		if errors.As(err, &cause) {
			err = cause.Err
		}
		l.Errorf(i.Pos, code.Import, "import %q cannot be read: %v", i.name(), err)
		return nil, nil
	}
	return target, nil
}

// reportMissingFile reports a missing file. An archive must be complete. A lone template
// may import files from elsewhere, unless the name looks like a misspelling.
func (l *loader) reportMissingFile(doc *Document, i Import, name string) {
	near := l.similarFile(doc, i, name)
	if near == "" && l.lone {
		l.missingImport(doc, i, code.Import, "import %q is not at hand (looked for %q): names that it may define are not checked", i.File, name)
		return
	}
	where := "in the archive"
	if l.lone {
		where = "at hand"
	}
	l.Add(diag.Diagnostic{
		Position: i.Pos, Code: code.Import, Suggestion: near,
		Message: fmt.Sprintf("import %q is not %s (looked for %q)", i.File, where, name),
	})
}

// similarFile returns a file in the same folder with a similar name.
func (l *loader) similarFile(doc *Document, i Import, name string) string {
	found, err := fs.ReadDir(l.archive, path.Dir(name))
	if err != nil {
		return ""
	}
	var stems []string
	byStem := map[string]string{}
	for _, f := range found {
		if stem, isYAML := yamlStem(f.Name()); isYAML && !f.IsDir() && path.Join(path.Dir(name), f.Name()) != doc.File {
			stems = append(stems, stem)
			byStem[stem] = f.Name()
		}
	}
	stem, _ := yamlStem(path.Base(name))
	near, same := byStem[stem]
	if !same {
		near = byStem[l.Nearest(stem, stems)]
	}
	if near == "" {
		return ""
	}
	return i.File[:strings.LastIndexByte(i.File, '/')+1] + near
}

// yamlStem returns a file name without its YAML extension.
func yamlStem(name string) (stem string, isYAML bool) {
	ext := path.Ext(name)
	isYAML = ext == ".yaml" || ext == ".yml"
	if !isYAML {
		return name, false
	}
	return strings.TrimSuffix(name, ext), true
}

func (i Import) name() string {
	if i.Profile != "" {
		return i.Profile
	}
	return i.File
}

// profile returns a profile by its name, from the archive or embedded.
func (l *loader) profile(doc *Document, i Import) (*Document, error) {
	if i.Profile == doc.Profile.Name {
		return nil, nil // the document's own
	}
	if l.profiles == nil {
		if err := l.findProfiles(); err != nil {
			return nil, err
		}
	}
	if name, ok := l.profiles[i.Profile]; ok {
		return l.imported(doc, i, name)
	}
	if simpleProfile.MatchString(i.Profile) {
		return l.builtin(profileFile), nil
	}
	l.missingImport(doc, i, code.Profile, "profile %q is not at hand: names that it may define are not checked", i.Profile)
	return nil, nil
}

// findProfiles finds the profiles that YAML files of the archive define. It skips
// unreadable files.
func (l *loader) findProfiles() error {
	l.profiles = map[string]string{}
	budget := 2 * source.MaxBytes
	return fs.WalkDir(l.archive, ".", func(name string, entry fs.DirEntry, err error) error {
		if _, isYAML := yamlStem(name); err != nil || entry.IsDir() || !isYAML || budget <= 0 {
			return nil //nolint:nilerr // reported where it is imported
		}
		data, err := l.archive.ReadFile(name, source.MaxBytes)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		budget -= len(data)
		if m := definesName.FindSubmatch(data); m != nil {
			defined := string(slices.Concat(m[1:]...)) // one of them is written
			l.profiles[defined] = cmp.Or(l.profiles[defined], name)
		}
		return nil
	})
}

// outside resolves a path outside of the folder of a lone template, if it may be a
// definition (TOSCA 2.0, 6.8.2.2).
func outside(file, name string) (string, bool) {
	joined := path.Join(path.Dir(file), name)
	_, isYAML := yamlStem(joined)
	return joined, isYAML && strings.HasPrefix(joined, "../") && !strings.HasPrefix(name, "/") && !strings.Contains(name, `\`)
}

// Within resolves a path relative to a file of the archive. ok is false if the path
// leaves the archive. A leading slash stands for the archive's root.
func Within(file, name string) (string, bool) {
	if strings.Contains(name, `\`) || name == "" {
		return "", false
	}
	var joined string
	if strings.HasPrefix(name, "/") {
		joined = path.Clean(strings.TrimLeft(name, "/"))
	} else {
		joined = path.Join(path.Dir(file), name)
	}
	return joined, fs.ValidPath(joined) && joined != "."
}
