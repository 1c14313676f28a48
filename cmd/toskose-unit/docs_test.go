package main

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/docs"
)

// TestTheDockerfilesOfTheDocumentationRunTheUnit reads what a Dockerfile runs: the unit that it copies,
// with the configuration that it copies, by arguments that the unit knows.
func TestTheDockerfilesOfTheDocumentationRunTheUnit(t *testing.T) {
	t.Parallel()
	for _, b := range docs.Of(t, docs.Dockerfile) {
		copied, runs := map[string]bool{}, ""
		for line := range strings.Lines(b.Text) {
			words := strings.Fields(line)
			switch words[0] {
			case "COPY":
				copied[path.Join(words[2], words[1])] = true
			case "HEALTHCHECK", "ENTRYPOINT":
				var args []string
				if err := json.Unmarshal([]byte(regexp.MustCompile(`\[.*\]`).FindString(line)), &args); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				command, rest := parse(args[1:])
				f, err := parseFlags(rest)
				if err != nil || args[0] != "toskose-unit" || !copied["/usr/local/bin/toskose-unit"] || !copied[f.file] {
					t.Errorf("%s:%d: %s: %v, of %q, and %v is copied", b.Page, b.Line, line, err, rest, copied)
				}
				runs += " " + words[0] + " " + command
			case "FROM":
			default:
				t.Errorf("%s:%d: no test knows %s", b.Page, b.Line, line)
			}
		}
		if runs != " HEALTHCHECK health ENTRYPOINT run" {
			t.Errorf("%s:%d runs%s", b.Page, b.Line, runs)
		}
	}
}
