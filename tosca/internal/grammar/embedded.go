package grammar

import (
	"embed"
	"fmt"
	"path"
	"sync"

	"github.com/toskose/toskose/tosca/diag"
)

//go:embed types/*.yaml
var embedded embed.FS

// The embedded files: TOSCA's normative types, which every document of 1.x
// knows, those that its examples use and that anyone may define otherwise, the
// profile of the normative ones that documents of 2.0 import by name, and
// TosKer's.
const (
	normativeFile = "types/tosca-simple.yaml"
	examplesFile  = "types/tosca-non-normative.yaml"
	profileFile   = "types/tosca-simple-2.0.yaml"
	toskerFile    = "types/tosker-types.yaml"
)

// builtins reads the embedded documents, once for all that is loaded: they are
// complete then, and never changed.
var builtins = sync.OnceValues(func() (map[string]*Document, error) {
	l := &loader{Collector: &diag.Collector{}, embedded: map[string]*Document{}}
	for _, file := range []string{normativeFile, examplesFile, profileFile, toskerFile} {
		data, err := embedded.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read the embedded %q: %w", file, err)
		}
		l.embedded[file] = read(l.Collector, path.Base(file), data, true)
	}
	normative, profile := l.embedded[normativeFile], l.embedded[profileFile]
	profile.imported = []importedDoc{{doc: normative}}
	for _, doc := range l.embedded {
		l.buildScope(doc, normative)
	}
	if err := l.List().Err(); err != nil {
		return nil, fmt.Errorf("an embedded file is wrong: %w", err)
	}
	return l.embedded, nil
})
