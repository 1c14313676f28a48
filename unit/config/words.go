package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// words splits a command into words as a shell would: white space separates, quotes
// join, a backslash escapes the next character (between double quotes only `"` and
// `\`). Python's shlex.split has the same rules.
func words(command string) ([]string, error) {
	var out []string
	var word strings.Builder
	inWord := false
	quote := byte(0)
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'':
			i++
			if i == len(command) {
				return nil, errors.New("ends with a backslash")
			}
			if quote == '"' && command[i] != '"' && command[i] != '\\' {
				word.WriteByte('\\')
			}
			word.WriteByte(command[i])
			inWord = true
		case quote == 0 && (c == '"' || c == '\''):
			quote, inWord = c, true
		case quote == 0 && isBlank(c):
			if inWord {
				out = append(out, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("lacks the closing %c", quote)
	}
	if inWord {
		out = append(out, word.String())
	}
	return out, nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// pairs reads KEY=value,KEY2="value 2" by the rules that Supervisor inherits from
// Python's shlex in its non-POSIX mode: a value with characters other than letters,
// digits and `_/.+-():` needs quotes, quotes of either kind are stripped from both
// ends, and there is no escape. odd lists the keys whose value is followed by a
// character other than a comma, which Supervisor treats as a comma. No error contains a value.
func pairs(text string) (set map[string]string, odd []string, err error) {
	tokens, err := oldShlex(text)
	if err != nil {
		return nil, nil, err
	}
	set = map[string]string{}
	for i, n := 0, 1; i < len(tokens); i, n = i+4, n+1 {
		if i+2 >= len(tokens) || tokens[i+1] != "=" {
			return nil, nil, fmt.Errorf("is not a list of KEY=\"value\",…: item %d is not a pair (a value with characters other than letters, digits and _/.+-(): needs quotes)", n)
		}
		key := tokens[i]
		if strings.ContainsAny(key, "'\"=\x00") || strings.Contains(tokens[i+2], "\x00") {
			return nil, nil, fmt.Errorf("is not a list of KEY=\"value\",…: the key or value of item %d has a quote or a zero byte", n)
		}
		set[key] = strings.Trim(tokens[i+2], `'"`)
		if i+3 < len(tokens) && tokens[i+3] != "," {
			odd = append(odd, key)
		}
	}
	return set, odd, nil
}

// oldShlex returns the tokens of shlex in non-POSIX mode.
func oldShlex(text string) ([]string, error) {
	var tokens []string
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case isBlank(c):
			i++
		case c == '#':
			i = lineEnd(text, i)
		case c == '"' || c == '\'':
			length := strings.IndexByte(text[i+1:], c)
			if length < 0 {
				return nil, errors.New("lacks a closing quote")
			}
			tokens = append(tokens, text[i:i+length+2])
			i += length + 2
		case isWordByte(c):
			var word strings.Builder
			for i < len(text) && (isWordByte(text[i]) || text[i] == '"' || text[i] == '\'' || text[i] == '#') {
				if text[i] == '#' { // a comment vanishes even inside a word
					i = lineEnd(text, i)
					continue
				}
				word.WriteByte(text[i])
				i++
			}
			tokens = append(tokens, word.String())
		default:
			_, size := utf8.DecodeRuneInString(text[i:])
			tokens = append(tokens, text[i:i+size])
			i += size
		}
	}
	return tokens, nil
}

// lineEnd returns the index after the newline that ends the line of i.
func lineEnd(text string, i int) int {
	if length := strings.IndexByte(text[i:], '\n'); length >= 0 {
		return i + length + 1
	}
	return len(text)
}

func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_/.+-():", c) >= 0
}
