package proctree

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAMarkHoldsBootAndProgram(t *testing.T) {
	t.Parallel()
	b, err := drawBoot(bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff}))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.mark(5), uint64(1<<50+0xfffff<<20+5); got != want {
		t.Errorf("mark %d, want %d", got, want)
	}
	for _, program := range []Program{1, 2, 4711, MaxProgram} {
		if got := b.program(b.mark(program)); got != program {
			t.Errorf("program %d comes back as %d", program, got)
		}
	}
}

func TestOnlyMarksOfThisBootClaim(t *testing.T) {
	t.Parallel()
	b := boot(0x12345)
	for name, mark := range map[string]uint64{
		"another boot":   boot(0x12346).mark(3),
		"no mark":        3,
		"unlimited":      math.MaxUint64,
		"a bit too many": b.mark(3) | 1<<51,
		"no program":     b.mark(Unclaimed),
	} {
		if got := b.program(mark); got != Unclaimed {
			t.Errorf("%s claims for program %d", name, got)
		}
	}
}

const limitsText = "Limit                     Soft Limit           Hard Limit           Units     \n" +
	"Max realtime priority     0                    0                    \n" +
	"Max realtime timeout      MARK unlimited            us        \n"

func TestMarksAreFoundInLimitsAndEnvironment(t *testing.T) {
	t.Parallel()
	b := boot(77)
	mark := strconv.FormatUint(b.mark(9), 10)
	for limits, want := range map[string]Program{
		strings.ReplaceAll(limitsText, "MARK", mark):        9,
		strings.ReplaceAll(limitsText, "MARK", "unlimited"): Unclaimed,
		"Max realtime priority 0 0\n":                       Unclaimed,
		"\nMax realtime timeout ":                           Unclaimed,
		"":                                                  Unclaimed,
		strings.ReplaceAll(limitsText, "MARK", "99999999999999999999999999"):    Unclaimed,
		strings.ReplaceAll(limitsText, "MARK", strconv.FormatUint(1<<50+9, 10)): Unclaimed,
	} {
		if got := b.inLimits([]byte(limits)); got != want {
			t.Errorf("%q: program %d, want %d", limits, got, want)
		}
	}
	for environ, want := range map[string]Program{
		"A=1\x00TOSKOSE_MARK=" + mark + "\x00B=2\x00": 9,
		"TOSKOSE_MARK=" + mark:                        9,
		"XTOSKOSE_MARK=" + mark + "\x00":              Unclaimed,
		"A=TOSKOSE_MARK=" + mark + "\x00":             Unclaimed,
		"TOSKOSE_MARK=\x00":                           Unclaimed,
		"":                                            Unclaimed,
	} {
		if got := b.inEnviron([]byte(environ)); got != want {
			t.Errorf("%q: program %d, want %d", environ, got, want)
		}
	}
}

func TestAProcessThatIsJustBeingExecutedIsKnownByItsNewEnvironment(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	tree := p.tree()
	p.write(50, "stat", statLine(50, "x", "S", os.Getpid(), 1, 5))
	p.write(50, "environ", "")
	line := filepath.Join(p.dir, "50", "cmdline")
	if err := unix.Mkfifo(line, 0o600); err != nil {
		t.Fatal(err)
	}
	executed := make(chan error, 1)
	go func() {
		looked, err := os.OpenFile(line, os.O_WRONLY, 0) // once somebody asks for the command line
		if err == nil {
			err = os.WriteFile(filepath.Join(p.dir, "50", "environ"), []byte(strings.Join(tree.Env(6, "api", "Standard.start"), "\x00")), 0o600)
			looked.Close()
		}
		executed <- err
	}()
	process, err := tree.Identify(50)
	if err := errors.Join(err, <-executed); err != nil {
		t.Fatal(err)
	}
	if process.Program != 6 {
		t.Errorf("claimed by %d, want 6", process.Program)
	}
}

func TestALongEnvironmentIsReadToItsMark(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	tree := p.tree()
	env := tree.Env(6, "api", "Standard.start")
	p.write(50, "stat", statLine(50, "x", "S", os.Getpid(), 1, 5))
	p.write(50, "environ", "LONG="+strings.Repeat("x", 100_000)+"\x00"+strings.Join(env, "\x00")+"\x00")
	process, err := tree.Identify(50)
	if err != nil {
		t.Fatal(err)
	}
	if process.Program != 6 {
		t.Errorf("claimed by %d, want 6", process.Program)
	}
}
