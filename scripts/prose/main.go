// Command prose counts phrases that are hard to read in the comments, messages and pages of the repository, and fails if
// they exceed a limit per 1,000 words. A high count is a reason to read a file again, not a list of words to replace.
//
//	prose [-max N] [-list] [DIR]
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// phrases are what the command counts: references without a noun, and idioms that stand in for a term of the field.
var phrases = []*regexp.Regexp{
	regexp.MustCompile(`\b[Ww]hat (is|are|was|were|has|have|had|others|it|they|an?|the|this|that|each|all|every|some|will|may|must|can|comes?|goes|runs?|ends?|keeps?)\b`),
	regexp.MustCompile(`\b([Ww]ho|[Ww]hoever) (asks?|does|is|was|has|had|shows?|requires?|wants?|may|reads?|runs?|knows?|waits?|calls?|came|comes)\b`),
	regexp.MustCompile(`\b([Tt]hat|[Tt]hose) of\b`),
	regexp.MustCompile(`\b[Tt]hose (that|which|who)\b`),
	regexp.MustCompile(`\bof (which|whose|whom)\b`),
	regexp.MustCompile(`\b([Nn]obody|[Ee]verybody|[Ss]omebody)\b`),
	regexp.MustCompile(`\btells\b`),
	regexp.MustCompile(`\b(goes|gone|go|going) on\b`),
	regexp.MustCompile(`\b(that|which) (is|are|was|were) there\b`),
	regexp.MustCompile(`\bhas (an? |the |every |all )?[a-z]+ (be|begin|end|start|stop|hold|keep|go|run) `),
	regexp.MustCompile(`\b(for good|[Hh]owever (many|long|much|often)|[Ww]hatever)\b`),
}

// wordsOfAMessage is the minimum number of words of a string literal that counts as a message.
const wordsOfAMessage = 4

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("prose", flag.ContinueOnError)
	flags.SetOutput(errs)
	limit := flags.Float64("max", 0, "fail above this many phrases per 1,000 words; 0: never")
	list := flags.Bool("list", false, "list the files with the most phrases")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	files, err := read(cmp.Or(flags.Arg(0), "."))
	if err != nil {
		fmt.Fprintln(errs, "prose:", err)
		return 1
	}
	var all file
	for _, f := range files {
		all.words, all.phrases = all.words+f.words, all.phrases+f.phrases
	}
	if *list {
		slices.SortFunc(files, func(a, b file) int { return cmp.Compare(b.phrases, a.phrases) })
		for _, f := range files[:min(len(files), 40)] {
			fmt.Fprintf(out, "%5d of %6d words  %s\n", f.phrases, f.words, f.name)
		}
	}
	fmt.Fprintf(out, "prose: %d phrases in %d words, %.1f per 1,000\n", all.phrases, all.words, all.rate())
	if *limit > 0 && all.rate() > *limit {
		fmt.Fprintf(errs, "prose: at most %.1f per 1,000 words are allowed; `go run ./scripts/prose -list` lists the files to read again\n", *limit)
		return 1
	}
	return 0
}

// file has the counts of one file.
type file struct {
	name           string
	words, phrases int
}

func (f *file) rate() float64 { return 1000 * float64(f.phrases) / float64(max(f.words, 1)) }

func (f *file) add(text string) {
	f.words += len(strings.Fields(text))
	for _, phrase := range phrases {
		f.phrases += len(phrase.FindAllStringIndex(text, -1))
	}
}

// read counts the Go files, except tests, and the Markdown files below a folder, except test data and build results.
func read(root string) (all []file, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "testdata" || name == "build" || name == "bin" || path != root && strings.HasPrefix(name, ".") {
				return fs.SkipDir
			}
			return nil
		}
		f := file{name: path}
		switch {
		case strings.HasSuffix(path, ".md"):
			err = f.markdown(path)
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			err = f.golang(path)
		default:
			return nil
		}
		all = append(all, f)
		return err
	})
	return all, err
}

func (f *file) markdown(path string) error {
	data, err := os.ReadFile(path)
	f.add(string(data))
	return err
}

func (f *file) golang(path string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, group := range parsed.Comments {
		f.add(group.Text())
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(literal.Value); err == nil && len(strings.Fields(text)) >= wordsOfAMessage {
			f.add(text)
		}
		return true
	})
	return nil
}
