package process

import (
	"syscall"
	"testing"

	"github.com/toskose/toskose/unit/proctree"
	"github.com/toskose/toskose/unit/wire"
)

func TestTheMarksOfAProgramAndOfItsCheckAreNeverAnothersMark(t *testing.T) {
	t.Parallel()
	for _, number := range []proctree.Program{1, 2, 4711, proctree.MaxProgram / 2} {
		check := checkMark(number)
		if check <= proctree.MaxProgram/2 || check > proctree.MaxProgram {
			t.Errorf("the check of %d has the mark %d", number, check)
		}
		if programOfMark(check) != number || programOfMark(number) != number {
			t.Errorf("%d is taken for %d, its check %d for %d", number, programOfMark(number), check, programOfMark(check))
		}
	}
	if programOfMark(proctree.Unclaimed) != proctree.Unclaimed {
		t.Error("what nobody claims is somebody's")
	}
}

func TestTheCodeThatAnEssentialProgramLeavesTheContainer(t *testing.T) {
	t.Parallel()
	seven := &Exit{Code: 7}
	for name, c := range map[string]struct {
		status Status
		state  wire.ProcessState
		code   int
	}{
		"its own":                        {Status{Exit: seven}, wire.Exited, 7},
		"success":                        {Status{Exit: &Exit{}}, wire.Exited, 0},
		"a signal":                       {Status{Exit: &Exit{Signal: syscall.SIGSEGV}}, wire.Exited, 139},
		"of the last that it left":       {Status{Exit: &Exit{}, Left: true, Last: &Orphan{Exit: *seven}}, wire.Exited, 7},
		"not of one that ended before":   {Status{Exit: &Exit{}, Last: &Orphan{Exit: *seven}}, wire.Exited, 0},
		"given up":                       {Status{Exit: seven}, wire.Fatal, 7},
		"given up although it succeeded": {Status{Exit: &Exit{}}, wire.Fatal, 1},
		"never executed":                 {Status{}, wire.Fatal, 127},
		"never ready":                    {Status{Exit: &Exit{Signal: syscall.SIGTERM}, Unready: true}, wire.Fatal, 1},
	} {
		if got := finalCode(c.status, c.state); got != c.code {
			t.Errorf("%s: %d, want %d", name, got, c.code)
		}
	}
}

func TestACommandsLastLineIsPartOfTheMessage(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"": "", "\n \n": "", "refused": `: "refused"`, "trying\nrefused\n\n": `: "refused"`, "\x1b[1m": `: "\x1b[1m"`,
	} {
		if got := lastLine([]byte(output)); got != want {
			t.Errorf("%q gives %q, want %q", output, got, want)
		}
	}
}
