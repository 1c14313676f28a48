package config

import (
	"errors"
	"strings"
)

// SplitWords splits a command into words as a POSIX shell would, without expansions. Engines do
// the same with a command that is a single string.
func SplitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	started, escaped := false, false
	var quote rune
	for _, r := range s {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`\n", r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, started = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, started = r, true
		case strings.ContainsRune(" \t\r\n", r):
			if started {
				words = append(words, word.String())
				word.Reset()
				started = false
			}
		default:
			word.WriteRune(r)
			started = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quotation mark is not closed")
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}
