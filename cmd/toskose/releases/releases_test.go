package releases

import (
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/packager/release"
)

// TestTheDocumentationShowsWhatReleasePrints prints what is shown once more.
func TestTheDocumentationShowsWhatReleasePrints(t *testing.T) {
	t.Parallel()
	shown := docs.Shown(t, "docs/second-day.md", "    RELEASE")
	l := listed{Application: "thinking"}
	for line := range strings.Lines(shown) {
		words := strings.Fields(strings.TrimPrefix(line, "*"))
		if at, err := time.Parse(time.RFC3339, words[1]); err == nil {
			l.Releases = append(l.Releases, release.Record{Release: words[0], At: at, By: words[2], Folder: words[3]})
		}
	}
	var out strings.Builder
	l.print(&out)
	if out.String() != shown || len(l.Releases) < 2 {
		t.Errorf("release prints\n%s\nand the documentation shows\n%s", out.String(), shown)
	}
}
