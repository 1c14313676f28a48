package config

import (
	"fmt"
	"strings"
)

// maxWidth bounds the width of a conversion such as %(process_num)02d.
const maxWidth = 100

// unknownName is the error of an expansion with an unknown name.
type unknownName struct{ name string }

func (e *unknownName) Error() string {
	if env, ok := strings.CutPrefix(e.name, "ENV_"); ok {
		return fmt.Sprintf("names %%(%s)s, but the environment has no %s", e.name, env)
	}
	return fmt.Sprintf("names %%(%s)s, which is unknown here", e.name)
}

// badFormat is the error of a malformed % expression.
type badFormat struct{ why string }

func (e *badFormat) Error() string { return "is badly formatted: " + e.why }

// expand replaces %(name)s by its value and %% by %, as Python's % operator does
// with a mapping. Values are strings or ints.
func expand(text string, lookup func(name string) (any, bool)) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "%")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		if after, ok := strings.CutPrefix(rest, "%"); ok {
			out.WriteByte('%')
			text = after
			continue
		}
		name, rest, ok := cutName(rest)
		if !ok {
			return "", &badFormat{"a % stands alone; write %% for the sign itself"}
		}
		known, ok := lookup(name)
		if !ok {
			return "", &unknownName{name}
		}
		converted, rest, err := convert(name, known, rest)
		if err != nil {
			return "", err
		}
		out.WriteString(converted)
		text = rest
	}
}

// cutName cuts off `(name)`, in which parentheses may nest.
func cutName(text string) (name, rest string, ok bool) {
	depth := 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			if i == 0 {
				return "", "", false
			}
			return text[1:i], text[i+1:], true
		}
	}
	return "", "", false
}

// convert formats a value by the flags, width, precision and letter at the
// beginning of text, and returns the text after them.
func convert(name string, known any, text string) (converted, rest string, err error) {
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("-+ #0123456789.", r) })
	if end < 0 {
		return "", "", &badFormat{fmt.Sprintf("%%(%s) lacks the letter of its conversion; write %%(%s)s", name, name)}
	}
	flags, letter, rest := text[:end], text[end], text[end+1:]
	if !widthAllowed(flags) {
		return "", "", &badFormat{fmt.Sprintf("%%(%s) has a width or precision that is too large", name)}
	}
	switch letter {
	case 's':
		// Python pads a string with spaces only.
		return fmt.Sprintf("%"+cutFlags(flags)+"s", fmt.Sprint(known)), rest, nil
	case 'd', 'i', 'u', 'x', 'X', 'o':
		number, ok := known.(int)
		if !ok {
			return "", "", &badFormat{fmt.Sprintf("%%(%s)%c needs a number", name, letter)}
		}
		if letter == 'i' || letter == 'u' {
			letter = 'd'
		}
		return fmt.Sprintf("%"+flags+string(letter), number), rest, nil
	}
	return "", "", &badFormat{fmt.Sprintf("%%(%s) lacks the letter of its conversion; write %%(%s)s", name, name)}
}

// cutFlags keeps the flags that apply to strings: `-`, width and precision.
func cutFlags(flags string) string {
	digits := strings.TrimLeft(flags, "-+ #0")
	if strings.Contains(flags[:len(flags)-len(digits)], "-") {
		return "-" + digits
	}
	return digits
}

func widthAllowed(flags string) bool {
	digits := strings.TrimLeft(flags, "-+ #0")
	width, precision, _ := strings.Cut(digits, ".")
	for _, part := range []string{width, precision} {
		number := 0
		for _, c := range part {
			if c < '0' || c > '9' || number > maxWidth {
				return false
			}
			number = number*10 + int(c-'0')
		}
		if number > maxWidth {
			return false
		}
	}
	return true
}
