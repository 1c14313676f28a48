package dockerfile

import (
	"os"
	"regexp"
	"slices"
	"strings"
)

// parents returns the images that a Dockerfile is built from, as far as they are known before the
// build: the images of FROM and of COPY --from, except the Dockerfile's own stages. A build
// argument in a name has its default value.
func parents(dockerfile string) []string {
	var all []string
	stages, defaults := map[string]bool{}, map[string]string{}
	add := func(ref string) {
		ref = os.Expand(unquote(ref), func(name string) string { return expand(defaults, name) })
		if ref == "" || ref == "scratch" || stages[strings.ToLower(ref)] || isNumber(ref) || slices.Contains(all, ref) {
			return
		}
		all = append(all, ref)
	}
	inStage := false
	for _, words := range instructions(dockerfile) {
		switch strings.ToUpper(words[0]) {
		case "ARG":
			if name, value, ok := strings.Cut(strings.Join(words[1:], " "), "="); ok && !inStage {
				defaults[name] = unquote(value)
			}
		case "FROM":
			inStage = true
			words = slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "--") })
			if len(words) > 0 {
				add(words[0])
			}
			if len(words) == 3 && strings.EqualFold(words[1], "AS") {
				stages[strings.ToLower(words[2])] = true
			}
		case "COPY":
			for _, w := range words[1:] {
				if from, ok := strings.CutPrefix(w, "--from="); ok {
					add(from)
				}
			}
		}
	}
	return all
}

var escapeDirective = regexp.MustCompile("(?i)^#[ \t]*escape[ \t]*=[ \t]*([\\\\`])[ \t]*$")

// instructions splits a Dockerfile into the words of its instructions, without comments and with
// continued lines joined.
func instructions(dockerfile string) [][]string {
	var all [][]string
	escape, line, first := `\`, "", true
	for text := range strings.Lines(strings.TrimPrefix(dockerfile, "\ufeff")) {
		text = strings.TrimSpace(text)
		if m := escapeDirective.FindStringSubmatch(text); m != nil && first {
			escape = m[1]
		}
		if strings.HasPrefix(text, "#") {
			continue
		}
		first = false
		more, goesOn := strings.CutSuffix(text, escape)
		line += more
		if words := strings.Fields(line); !goesOn && len(words) > 0 {
			all = append(all, words)
		}
		if !goesOn {
			line = ""
		}
	}
	if words := strings.Fields(line); len(words) > 0 {
		all = append(all, words)
	}
	return all
}

// expand returns the value of the text between the braces of ${NAME}, ${NAME:-DEFAULT} and
// ${NAME:+OTHER}.
func expand(values map[string]string, text string) string {
	name, other, ok := strings.Cut(text, ":")
	value := values[name]
	switch {
	case ok && strings.HasPrefix(other, "-") && value == "", ok && strings.HasPrefix(other, "+") && value != "":
		return other[1:]
	default:
		return value
	}
}

func unquote(s string) string {
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }
