package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/internal/freeport"
)

// TestTheFirstApplicationRunsAsTheDocumentationHasIt has a shell run the commands from `toskose init` to `toskose undeploy` as they are
// printed, but for names and ports: others may have those.
func TestTheFirstApplicationRunsAsTheDocumentationHasIt(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	if err := bases(); err != nil {
		t.Fatalf("the base images are missing: %v", err)
	}
	curl := filepath.Dir(found(t, "curl"))
	for page, printed := range map[string]string{"README.md": "site", "docs/writing-applications.md": "hello"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			var block strings.Builder
			for _, b := range docs.Of(t, docs.Shell) {
				if b.Page == page && (strings.Contains(b.Text, "toskose init "+printed) || strings.Contains(b.Text, "--dir "+printed+"-toskosed")) {
					block.WriteString(b.Text)
				}
			}
			name, port, work := printed+"-"+run+"-"+random(), freeport.Find(t), t.TempDir()
			app := &application{engine: engine, name: name, dir: filepath.Join(work, name+"-toskosed"), target: byCompose}
			if err := os.WriteFile(filepath.Join(work, "toskose.yml"), fmt.Appendf(nil, "manager:\n  port: %d\n", freeport.Find(t)), 0o600); err != nil {
				t.Fatal(err)
			}
			text := block.String()
			for from, to := range map[string]string{
				`\b` + printed + `\b`:                name,
				`toskose package (\S+)`:              fmt.Sprintf("toskose package -i port=%d $1 toskose.yml", port),
				`localhost:8000`:                     fmt.Sprintf("localhost:%d", port),
				`(?m)^toskose (deploy|undeploy)(.*)`: "toskose $1 --target compose --timeout " + patience + " $2",
			} {
				text = regexp.MustCompile(from).ReplaceAllString(text, to)
			}
			t.Cleanup(func() {
				app.undeploy(t)
				app.removeImages(t)
			})
			r := commandWith(t, []string{"PATH=" + bin + ":" + curl + ":" + os.Getenv("PATH")}, work, "/bin/sh", "-euc", text)
			if r.code != 0 || !strings.Contains(r.stdout, "<h1>Hello from "+name+"</h1>") || !regexp.MustCompile(`clock:Standard.stop .*succeeded|clock .*configured`).MatchString(r.stdout+r.stderr) {
				t.Errorf("the commands of %s end with %d:\n%s\n%s\n%s", page, r.code, text, r.stdout, r.stderr)
			}
		})
	}
}
