package unit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

// TestWhoReadsAQuestionCanAnswerIt answers a program 150 times as soon as its log has the
// question, while the unit is still busy with the start. It is not parallel: see clocked.
func TestWhoReadsAQuestionCanAnswerIt(t *testing.T) {
	c := newClocked(t)
	log := filepath.Join(c.dir, "asks")
	for range 150 {
		if err := os.Truncate(log, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		go func() {
			for c.ctx.Err() == nil {
				if info, err := os.Stat(log); err == nil && info.Size() > 0 {
					break
				}
			}
			answered <- c.SendProcessStdin(c.ctx, "asks", "\n")
		}()
		c.start("asks")
		if err := <-answered; err != nil {
			t.Fatal("the question was read, and could not be answered:", err)
		}
		c.in("asks", wire.Exited)
	}
}
