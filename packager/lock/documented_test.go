package lock

import (
	"fmt"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/docs"
)

func TestTheDocumentationShowsWhoHoldsTheLock(t *testing.T) {
	t.Parallel()
	shown := docs.Shown(t, "docs/second-day.md", "is locked by")
	held := &HeldError{App: "thinking", Holder: Record{
		Owner: "ada@office", Process: 4711, Command: "toskose deploy thinking-toskosed", Since: time.Date(2026, 3, 2, 9, 14, 51, 0, time.UTC),
	}}
	if printed := fmt.Sprintf("toskose: cannot deploy %q: %v\n", "thinking", held); printed != shown {
		t.Errorf("it prints\n%s\nand docs/second-day.md shows\n%s", printed, shown)
	}
}
