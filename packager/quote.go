package packager

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const plainInCommands = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@+=:,%-"

// command writes a command line as supervisord splits it (Python's shlex, then
// %-expansion). Backslashes serve better than quotation marks: they also keep
// a " ;" in a path from beginning a comment.
func command(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		var b strings.Builder
		for _, r := range w {
			if r < 0x80 && !strings.ContainsRune(plainInCommands, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
		quoted[i] = b.String()
	}
	return percent(strings.Join(quoted, " "))
}

// percent keeps a value of supervisord.conf from being expanded.
func percent(s string) string { return strings.ReplaceAll(s, "%", "%%") }

var commentSigns = strings.NewReplacer(";", `\u003b`, "#", `\u0023`)

// jsonValue writes a value of supervisord.conf as JSON. ";" and "#" begin
// comments there, and can stand in JSON's strings only.
func jsonValue(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("cannot encode as JSON: %w", err)
	}
	return percent(commentSigns.Replace(string(data))), nil
}

// splitWords splits a command as a POSIX shell would, without expanding
// anything: that is what engines do with a command that is one string.
func splitWords(s string) ([]string, error) {
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
