// Package docs gives tests access to the examples in the documentation. Each block has a kind; for
// each kind, some test checks all blocks. A block of printed output is checked by a test that
// requests it. This package's tests fail for a block that no test covers.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"
)

// Page is a page of the documentation.
type Page struct {
	Name   string // from the root of the repository, with slashes
	Text   string
	Blocks []Block
}

// Block is a fenced block.
type Block struct {
	Page     string
	Line     int // of its first line
	Language string
	Text     string
}

// Kind determines which test checks a block: the one that calls Of with this kind.
type Kind string

// The kinds of blocks. Tests request blocks of kind Printed one by one with the function Shown.
const (
	Shell      Kind = "commands for a shell"
	UnitCalls  Kind = "calls of a unit's API"
	File       Kind = "a file of an archive or for a command, with its name in a comment"
	Templates  Kind = "node templates"
	Config     Kind = "a toskose.yml"
	Prometheus Kind = "what Prometheus reads"
	Workflow   Kind = "a job of GitHub's"
	Supervisor Kind = "a supervisord.conf"
	Dockerfile Kind = "a Dockerfile with the unit"
	Printed    Kind = "what is printed"
	Message    Kind = "a message that explains a mistake"
	Resource   Kind = "a resource of Argo CD or Flux"
	Cluster    Kind = "a cluster.yaml"
	Level      Kind = "a resource of Toskose's operator"
	unknown    Kind = ""
)

// fileName matches the comment with the file's name at the start of a block, in a script after the
// interpreter line.
var fileName = regexp.MustCompile(`^(?:#!/.*\n)?[#;] (supervisord\.conf|[a-z-]+/[a-z./-]+\.ya?ml|[a-z.-]+\.ya?ml|[a-z/-]+\.sh|[a-z/-]+/Dockerfile)\n`)

// File is the name of the file that a block shows, if it does.
func (b Block) File() string {
	if match := fileName.FindStringSubmatch(b.Text); match != nil {
		return match[1]
	}
	return ""
}

// Kind returns the kind of a block. A toskose.yml is a Config under any file name.
func (b Block) Kind() Kind {
	switch b.Language {
	case "sh":
		if b.File() != "" {
			return File
		}
		if strings.Contains(b.Text, "$UNIT") {
			return UnitCalls
		}
		return Shell
	case "ini":
		return Supervisor
	case "text", "json":
		return Printed
	case "console":
		return Message
	case "dockerfile":
		if b.File() != "" {
			return File
		}
		return Dockerfile
	case "yaml":
		return b.yaml()
	}
	return unknown
}

// yaml determines the kind of a YAML block by its top-level keys.
func (b Block) yaml() Kind {
	var top map[string]yaml.Node
	if err := yaml.Unmarshal([]byte(b.Text), &top); err != nil {
		return unknown
	}
	has := func(names ...string) bool {
		for name := range top {
			for _, want := range names {
				if name == want {
					return true
				}
			}
		}
		return false
	}
	switch {
	case has("tosca_definitions_version"):
		return File
	case strings.Contains(top["apiVersion"].Value, "toskose.io/"):
		return Level
	case has("apiVersion"):
		return Resource
	case has("scrape_configs", "groups"):
		return Prometheus
	case has("interface", "seed"):
		return Cluster
	case has("nodes", "components", "manager", "secrets", "volumes"):
		return Config
	case b.File() != "":
		return File
	}
	for _, node := range top {
		var value map[string]yaml.Node
		if node.Decode(&value) == nil && value["type"].Value != "" {
			return Templates
		}
		if node.Decode(&value) == nil && value["steps"].Kind != 0 {
			return Workflow
		}
	}
	return unknown
}

// span is code in the middle of a sentence.
var span = regexp.MustCompile("``([^\n]+?)``|`([^`\n]+)`")

// Spans gives the code in the middle of sentences.
func (p Page) Spans() (spans []string) {
	text := p.Text
	for _, b := range p.Blocks {
		text = strings.Replace(text, "```"+b.Language+"\n"+b.Text+"```\n", "", 1)
	}
	for _, match := range span.FindAllStringSubmatch(text, -1) {
		spans = append(spans, match[1]+match[2])
	}
	return spans
}

// Pages gives all pages of the repository.
func Pages(t testing.TB) []Page {
	t.Helper()
	pages, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// Of returns all blocks of a kind. It fails the test if there are none.
func Of(t testing.TB, kind Kind) (blocks []Block) {
	t.Helper()
	for _, p := range Pages(t) {
		for _, b := range p.Blocks {
			if b.Kind() == kind {
				blocks = append(blocks, b)
			}
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("the documentation has no block that is %s", kind)
	}
	return blocks
}

// Shown returns the only block of a page with printed output that starts with the given words. If
// no block starts with them, it returns the only one that contains them, or that follows a block
// of commands containing them.
func Shown(t testing.TB, page, words string) string {
	t.Helper()
	var found []Block
	for _, p := range Pages(t) {
		if p.Name == page {
			found = append(found, p.showing(words)...)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s shows %d times what is printed of %q", page, len(found), words)
	}
	return found[0].Text
}

func (p Page) showing(words string) (found []Block) {
	for _, has := range []func(i int) bool{
		func(i int) bool { return strings.HasPrefix(p.Blocks[i].Text, words) },
		func(i int) bool { return strings.Contains(p.Blocks[i].Text, words) },
		func(i int) bool {
			return i > 0 && p.Blocks[i-1].Kind() == Shell && strings.Contains(p.Blocks[i-1].Text, words)
		},
	} {
		for i, b := range p.Blocks {
			if b.Kind() == Printed && has(i) {
				found = append(found, b)
			}
		}
		if found != nil {
			break
		}
	}
	return found
}

// read reads the pages once: a test may change to another folder.
var read = sync.OnceValues(func() (pages []Page, err error) {
	top, err := root()
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(top, path)
		if d.IsDir() && (name == ".git" || name == "bin" || name == "build") {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		pages = append(pages, newPage(filepath.ToSlash(name), string(text)))
		return err
	})
	return pages, err
})

// Root is the repository's folder.
func Root(t testing.TB) string {
	t.Helper()
	top, err := root()
	if err != nil {
		t.Fatal(err)
	}
	return top
}

var root = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", fs.ErrNotExist
		}
		dir = filepath.Dir(dir)
	}
	return "", err
})

func newPage(name, text string) Page {
	p := Page{Name: name, Text: text}
	line, inside := 0, false
	for part := range strings.Lines(text) {
		line++
		language, fence := strings.CutPrefix(part, "```")
		switch {
		case fence && !inside && !strings.Contains(language, "`"):
			p.Blocks = append(p.Blocks, Block{Page: name, Line: line + 1, Language: strings.TrimSpace(language)})
			inside = true
		case fence && inside:
			inside = false
		case inside:
			p.Blocks[len(p.Blocks)-1].Text += part
		}
	}
	return p
}
