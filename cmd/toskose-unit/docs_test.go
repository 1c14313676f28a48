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
		if strings.HasPrefix(b.Text, "COPY --from=") {
			continue // a unit that joins by its environment
		}
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

// TestTheDockerfileOfAUnitThatJoinsCopiesItOverSupervisord reads the lines of images that are attached.
func TestTheDockerfileOfAUnitThatJoinsCopiesItOverSupervisord(t *testing.T) {
	t.Parallel()
	found := 0
	for _, b := range docs.Of(t, docs.Dockerfile) {
		copied, variables, ok := strings.Cut(b.Text, "\n")
		words := strings.Fields(copied)
		if !ok || words[0] != "COPY" || len(words) != 4 {
			continue
		}
		found++
		if words[1] != "--from=toskose-unit:VERSION" || words[2] != "/toskose/unit/toskose-unit" || path.Base(words[3]) != "supervisord" {
			t.Errorf("%s:%d copies %q", b.Page, b.Line, words)
		}
		if !strings.HasPrefix(variables, "ENV "+envListen+"=:9001 SUPERVISORD_PASSWORD_FILE=/") {
			t.Errorf("%s:%d sets %q", b.Page, b.Line, variables)
		}
	}
	if found != 1 {
		t.Errorf("%d blocks", found)
	}
}
