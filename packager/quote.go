package packager

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/config"
)

const plainInCommands = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@+=:,%-"

// command quotes a command line for supervisord, which splits it like Python's shlex and then expands
// %. Backslashes also prevent a " ;" in a path from starting a comment, unlike quotation marks.
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

// shellWords splits a command line as a shell does, and quotes it for supervisord.
func shellWords(text string) (string, error) {
	words, err := config.SplitWords(text)
	return command(words...), err
}

// seconds returns a duration as a number of seconds.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// address removes white space from a URL; it returns other text unchanged.
func address(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.String()
	}
	return text
}

var afterSpace = regexp.MustCompile(`(\s)([;#])`)

// pattern quotes a regular expression: a `;` or `#` after white space would begin a comment in the
// file, and leading and trailing white space would be lost.
func pattern(text string) string {
	text = afterSpace.ReplaceAllString(text, "$1\\$2")
	if strings.TrimSpace(text) != text {
		text = "(?:)" + text + "(?:)"
	}
	return percent(text)
}

// percent escapes "%" in a value of supervisord.conf.
func percent(s string) string { return strings.ReplaceAll(s, "%", "%%") }
