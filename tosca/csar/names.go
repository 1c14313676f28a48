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

// problems are all that is wrong with an archive, and what stopped looking.
type problems struct {
	list  diag.List
	other error
}

// add takes what a check found, and reports whether that was something.
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

// checkName refuses a name in a zip that is not a plain relative path. It must
// be refused rather than cleaned: what the author of such a name wants is not
// what a reader of the archive would see.
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

// nameFault tells what is wrong with a name, as the rest of a sentence about it,
// and by which code; none where nothing is.
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

// names notices entries that collide.
type names struct {
	seen   map[string]bool   // path → whether it is a folder
	folded map[string]string // lower case → path
}

func newNames() *names { return &names{seen: map[string]bool{}, folded: map[string]string{}} }

// add takes one path and the folders that it implies.
func (n *names) add(path string, dir bool) error {
	if wasDir, ok := n.seen[path]; ok && (!dir || !wasDir) {
		return problem(codeDuplicate, path, "is in the archive twice")
	}
	for {
		if other, ok := n.folded[strings.ToLower(path)]; ok && other != path {
			n.seen[path] = dir // said once, not for each file below it
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

// upper437 are the upper half of code page 437, in which a zip has the names that
// it does not call UTF-8 (APPNOTE, appendix D).
var upper437 = []rune("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0")

// fromCP437 reads such a name. Programs write UTF-8 there all the same, so this
// is for what is none.
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
