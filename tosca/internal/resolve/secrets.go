package resolve

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/source"
)

// secretName finds names that people give to what is to be kept secret.
var secretName = regexp.MustCompile(`(?i)pass(word|wd|phrase)|secret|token|credential|(api|private|access)[-_.]?key|(\b|_)(pass|pw)\b`)

// HasSecrets reports whether a file has something in it whose name says that it is
// to be kept secret, so that none of its lines should be shown. A large one is not
// looked through.
func (f *InputFile) HasSecrets() bool { return len(f.Data) > maxLooked || secretName.Match(f.Data) }

// What stands for a secret in messages.
const hidden = "…"

const (
	longSecret = 4       // characters of a secret that is hidden wherever it stands
	maxLooked  = 1 << 20 // bytes
	maxSecret  = 1 << 12
	maxSecrets = 100 // that are hidden
	maxShown   = 80  // characters of a value in a message
)

// keepSecret remembers what a user gave for an input, where its name or that of a
// part of it says that it is secret.
func (r *inputReader) keepSecret(name string, v *source.Node) {
	if v == nil {
		return
	}
	secret := secretName.MatchString(name)
	if v.IsScalar() && !v.IsNull() && secret && v.Text != "" && len(v.Text) <= maxSecret && len(r.secrets) < maxSecrets {
		r.secrets = append(r.secrets, v.Text)
	}
	for i, item := range v.Items {
		of := name
		if v.Kind == source.Map && !secret {
			of = v.Keys[i].Text
		}
		r.keepSecret(of, item)
	}
}

// List returns all diagnostics, without the secrets of the user.
func (g *Graph) List() diag.List {
	list := g.Collector.List()
	if len(g.secrets) == 0 {
		return list
	}
	whole, words := secretTexts(g.secrets)
	for i := range list {
		list[i].Message = words.ReplaceAllString(whole.ReplaceAllString(list[i].Message, hidden), "${1}"+hidden+"${2}")
	}
	return list
}

// secretTexts finds secrets in messages: as they are, quoted with escapes or cut
// off; and short ones where they are words.
func secretTexts(secrets []string) (whole, words *regexp.Regexp) {
	long, short := []string{"$^"}, []string{"$^"} // which are nowhere
	for _, secret := range secrets {
		quoted := quote(secret)
		inner := quoted[1 : len(quoted)-1]
		switch {
		case len(secret) < longSecret:
			short = append(short, regexp.QuoteMeta(inner))
			continue
		case len(quoted) > maxShown:
			long = append(long, regexp.QuoteMeta(strings.ToValidUTF8(quoted[1:maxShown], "")))
		}
		long = append(long, regexp.QuoteMeta(inner), regexp.QuoteMeta(strings.ToValidUTF8(secret, "")))
	}
	for _, texts := range [][]string{long, short} {
		slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
	return regexp.MustCompile(strings.Join(long, "|")), regexp.MustCompile(`(^|[^\pL\pN_])(?:` + strings.Join(short, "|") + `)($|[^\pL\pN_])`)
}

// withoutQuotes takes from what is wrong with the YAML of a user's values what it
// says of the text: an anchor, an alias or a tag may be a password that is not in
// quotes. Keys stay.
func withoutQuotes(list diag.List) diag.List {
	list = slices.Clone(list)
	for i := range list {
		list[i].Message = aliasOrTag.ReplaceAllString(list[i].Message, `${1} `+hidden)
	}
	return list
}

var aliasOrTag = regexp.MustCompile(`\b(anchor|tag|alias) ('[^']*'|"[^"]*")`)
