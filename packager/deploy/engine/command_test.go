package engine

import (
	"bytes"
	"strings"
	"testing"

	"github.com/toskose/toskose/packager/deploy/backend"
)

func TestACommandsErrorHoldsTheEndOfItsOutput(t *testing.T) {
	t.Parallel()
	var debug bytes.Buffer
	e := &Engine{Application: &backend.Application{Debug: &debug, Environ: []string{"A=seen"}, Dir: t.TempDir()}}
	err := e.Command(t.Context(), "/bin/sh", "-c", "printf 'o\\033[32mn\\033[0me\\r\\n'; echo $A >&2; exit 3")
	if err == nil || !strings.HasSuffix(err.Error(), "exit status 3\n    one\n    seen") || !strings.HasSuffix(debug.String(), "\nseen\n") {
		t.Errorf("error %v, debug %q", err, &debug)
	}
	e.Debug = nil
	if err := e.Command(t.Context(), "/bin/sh", "-c", "exit 0"); err != nil {
		t.Error(err)
	}
}
