package csar

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toskose/toskose/tosca/diag"
)

// The codes of archive errors.
const (
	codeNotArchive  = "TOSCA-CSAR-001" // neither a zip nor a tar nor a directory nor YAML
	codeDamaged     = "TOSCA-CSAR-002" // truncated or damaged
	codeNoEntry     = "TOSCA-CSAR-003" // no entry definition
	codeManyEntries = "TOSCA-CSAR-004" // more than one possible entry definition
	codeMeta        = "TOSCA-CSAR-005" // TOSCA.meta is malformed
	codeMetaVersion = "TOSCA-CSAR-006" // TOSCA.meta has an unknown version
	codeMetadata    = "TOSCA-CSAR-007" // the root YAML lacks template_name or template_version
	codeEscape      = "TOSCA-CSAR-010" // a path leaves the archive
	codeName        = "TOSCA-CSAR-011" // a path that some systems cannot store
	codeLink        = "TOSCA-CSAR-012" // a link or special file
	codeDuplicate   = "TOSCA-CSAR-013" // two entries of one name
	codeCase        = "TOSCA-CSAR-014" // two entries that differ by case only
	codeEncrypted   = "TOSCA-CSAR-015" // an encrypted entry
	codeMethod      = "TOSCA-CSAR-016" // an unknown compression
	codeEntries     = "TOSCA-CSAR-020" // too many entries
	codeFileSize    = "TOSCA-CSAR-021" // a file is too large
	codeTotal       = "TOSCA-CSAR-022" // all files together are too large
	codeRatio       = "TOSCA-CSAR-023" // a suspicious compression ratio
)

// problem returns a problem of an entry, or of the archive if the subject is empty.
// OpenWith adds the archive's path.
func problem(code, subject, sentence string) diag.List {
	message := "the archive " + sentence
	if subject != "" {
		message = fmt.Sprintf("%q %s", subject, sentence)
	}
	return diag.List{{Code: code, Message: message}}
}

// problems collects the problems of an archive, and an error that ended the check.
type problems struct {
	list  diag.List
	other error
}

// add adds the result of a check and reports whether it failed.
func (p *problems) add(err error) bool {
	var bad diag.List
	switch {
	case err == nil:
		return false
	case !errors.As(err, &bad):
		p.other = err
	case len(p.list) < maxReported:
		p.list = append(p.list, bad...)
	}
	return true
}

func (p *problems) err() error {
	if p.other != nil || len(p.list) == 0 {
		return p.other
	}
	return p.list
}

// checkName rejects a name in a zip that is not a plain relative path. It does not clean
// names, as other programs may read them differently.
func checkName(name string) error {
	code, fault := nameFault(name)
	switch {
	case code == "":
		return nil
	case name == "":
		return problem(code, "", "has an entry without a name")
	case len(name) > maxName:
		name = name[:40] + "…"
	}
	return problem(code, strings.ToValidUTF8(name, "?"), fault)
}

const maxName = 1024 // bytes

// nameFault returns the code and description of a problem with a name, or empty strings.
func nameFault(name string) (code, fault string) {
	switch {
	case !utf8.ValidString(name):
		return codeName, "is not a name in UTF-8"
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '\uFFFE' }):
		return codeName, "has a control character in its name"
	case strings.Contains(name, `\`):
		return codeEscape, "has a backslash in its path, which some systems take for a folder"
	case strings.HasPrefix(name, "/"):
		return codeEscape, "is an absolute path, which leaves the archive"
	case len(name) > 1 && name[1] == ':':
		return codeEscape, "begins with a drive letter, which leaves the archive"
	case len(name) > maxName:
		return codeName, fmt.Sprintf("is longer than %d bytes", maxName)
	}
	path := strings.TrimSuffix(name, "/")
	for part := range strings.SplitSeq(path, "/") {
		if part == ".." {
			return codeEscape, `climbs out of the archive with ".."`
		}
	}
	if !fs.ValidPath(path) || path == "." {
		return codeName, "is not a clean path"
	}
	return "", ""
}

// names detects entries that collide.
type names struct {
	seen   map[string]bool   // path → whether it is a folder
	folded map[string]string // lower case → path
}

func newNames() *names { return &names{seen: map[string]bool{}, folded: map[string]string{}} }

// add adds a path with its parent folders.
func (n *names) add(path string, dir bool) error {
	if wasDir, ok := n.seen[path]; ok && (!dir || !wasDir) {
		return problem(codeDuplicate, path, "is in the archive twice")
	}
	for {
		if other, ok := n.folded[strings.ToLower(path)]; ok && other != path {
			n.seen[path] = dir // reported once, not for each file in it
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

// upper437 are the upper characters of code page 437, the encoding of names in a zip
// that are not marked as UTF-8 (APPNOTE, appendix D).
var upper437 = []rune("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0")

// fromCP437 decodes a name, unless it is valid UTF-8, which programs write without the
// mark, too.
func fromCP437(name string) string {
	read := make([]rune, len(name))
	for i := range len(name) {
		read[i] = rune(name[i])
		if name[i] >= 0x80 {
			read[i] = upper437[name[i]-0x80]
		}
	}
	return string(read)
}
