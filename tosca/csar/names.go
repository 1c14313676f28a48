package csar

import (
	"fmt"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toskose/toskose/tosca/diag"
)

// The codes of what is wrong with an archive.
const (
	codeNotArchive  = "TOSCA-CSAR-001" // neither a zip nor a tar nor a directory nor YAML
	codeDamaged     = "TOSCA-CSAR-002" // truncated or damaged
	codeNoEntry     = "TOSCA-CSAR-003" // no entry definition
	codeManyEntries = "TOSCA-CSAR-004" // more than one possible entry definition
	codeMeta        = "TOSCA-CSAR-005" // TOSCA.meta is malformed
	codeMetaVersion = "TOSCA-CSAR-006" // TOSCA.meta has an unknown version
	codeMetadata    = "TOSCA-CSAR-007" // the root YAML lacks template_name or template_version
	codeEscape      = "TOSCA-CSAR-010" // a path leaves the archive
	codeName        = "TOSCA-CSAR-011" // a path that not every system can hold
	codeLink        = "TOSCA-CSAR-012" // a link or special file
	codeDuplicate   = "TOSCA-CSAR-013" // two entries of one name
	codeCase        = "TOSCA-CSAR-014" // two entries that differ by case only
	codeEncrypted   = "TOSCA-CSAR-015" // an encrypted entry
	codeMethod      = "TOSCA-CSAR-016" // an unknown compression
	codeEntries     = "TOSCA-CSAR-020" // too many entries
	codeFileSize    = "TOSCA-CSAR-021" // a file is too large
	codeTotal       = "TOSCA-CSAR-022" // all files together are too large
	codeRatio       = "TOSCA-CSAR-023" // compressed too well to be honest
)

// problem is what is wrong with an entry, or with the archive itself where the
// subject is empty. Where the archive is, OpenWith adds.
func problem(code, subject, sentence string) diag.List {
	message := "the archive " + sentence
	if subject != "" {
		message = fmt.Sprintf("%q %s", subject, sentence)
	}
	return diag.List{{Code: code, Message: message}}
}

// checkName refuses a name in a zip that is not a plain relative path. It must
// be refused rather than cleaned: what the author of such a name wants is not
// what a reader of the archive would see.
func checkName(name string) error {
	switch {
	case !utf8.ValidString(name):
		return problem(codeName, strings.ToValidUTF8(name, "?"), "is not a name in UTF-8")
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '\uFFFE' }):
		return problem(codeName, name, "has a control character in its name")
	case strings.Contains(name, `\`):
		return problem(codeEscape, name, "has a backslash in its path, which some systems take for a folder")
	case strings.HasPrefix(name, "/"):
		return problem(codeEscape, name, "is an absolute path, which leaves the archive")
	case len(name) > 1 && name[1] == ':':
		return problem(codeEscape, name, "begins with a drive letter, which leaves the archive")
	case len(name) > 1024:
		return problem(codeName, name[:40]+"…", "is longer than 1024 bytes")
	}
	path := strings.TrimSuffix(name, "/")
	for part := range strings.SplitSeq(path, "/") {
		if part == ".." {
			return problem(codeEscape, name, `climbs out of the archive with ".."`)
		}
	}
	if !fs.ValidPath(path) || path == "." {
		return problem(codeName, name, "is not a clean path")
	}
	return nil
}

// names notices entries that collide.
type names struct {
	seen   map[string]bool   // path → whether it is a folder
	folded map[string]string // lower case → path
}

func newNames() *names {
	return &names{seen: map[string]bool{}, folded: map[string]string{}}
}

// add takes one path and the folders that it implies.
func (n *names) add(path string, dir bool) error {
	if wasDir, ok := n.seen[path]; ok && (!dir || !wasDir) {
		return problem(codeDuplicate, path, "is in the archive twice")
	}
	for {
		if other, ok := n.folded[strings.ToLower(path)]; ok && other != path {
			return problem(codeCase, path, fmt.Sprintf("and %q differ by case only", other))
		}
		n.folded[strings.ToLower(path)] = path
		n.seen[path] = dir
		cut := strings.LastIndexByte(path, '/')
		if cut < 0 {
			return nil
		}
		path, dir = path[:cut], true
		if wasDir, ok := n.seen[path]; ok {
			if !wasDir {
				return problem(codeDuplicate, path, "is in the archive as a file and as a folder")
			}
			return nil
		}
	}
}
