package reaper_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/reaper/reapertest"
)

func TestAProgramThatCannotBeExecutedSaysWhy(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		dir := t.TempDir()
		write := func(name, content string, mode os.FileMode) string {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(content), mode); err != nil {
				t.Fatal(err)
			}
			return path
		}
		missing := filepath.Join(dir, "missing")
		tests := map[string]struct {
			spec reaper.Spec
			is   error
			says []string
		}{
			"no such program":      {reaper.Spec{Path: missing}, fs.ErrNotExist, []string{`exec "` + missing + `"`}},
			"not executable":       {reaper.Spec{Path: write("plain", "#!/bin/sh\n", 0o644)}, fs.ErrPermission, []string{"permission denied"}},
			"no #! line":           {reaper.Spec{Path: write("bare", "echo hello\n", 0o755)}, syscall.ENOEXEC, []string{"exec format error", "no #! line"}},
			"missing interpreter":  {reaper.Spec{Path: write("perl", "#!/no/such/perl -w\n", 0o755)}, fs.ErrNotExist, []string{`"/no/such/perl"`}},
			"missing directory":    {reaper.Spec{Path: "/bin/true", Dir: missing}, fs.ErrNotExist, []string{`chdir "` + missing + `"`}},
			"directory is a file":  {reaper.Spec{Path: "/bin/true", Dir: "/bin/true"}, syscall.ENOTDIR, []string{`chdir "/bin/true"`}},
			"relative path":        {reaper.Spec{Path: "bin/true"}, nil, []string{"not absolute"}},
			"a NUL in an argument": {reaper.Spec{Path: "/bin/echo", Args: []string{"echo", "a\x00b"}}, syscall.EINVAL, []string{"/bin/echo"}},
		}
		f := newReaper(t)
		f.start()
		for name, test := range tests {
			_, err := f.Start(test.spec)
			if err == nil {
				t.Errorf("%s: started", name)
				continue
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%s: %v is not %v", name, err, test.is)
			}
			for _, says := range test.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%s: %q does not say %q", name, err, says)
				}
			}
		}
		if len(f.orphans) > 0 {
			t.Errorf("a fork that failed left %d orphans", len(f.orphans))
		}
	})
}

func TestAUserThatCannotBeBecomeIsNamed(t *testing.T) {
	reapertest.AsInit(t, func(t *testing.T) {
		f := newReaper(t)
		f.start()
		if err := syscall.Setuid(65534); err != nil {
			t.Fatal(err)
		}
		_, err := f.Start(reaper.Spec{Path: "/bin/true", Credential: &syscall.Credential{Uid: 1, Gid: 2}})
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "become user 1 with group 2") {
			t.Errorf("got %v", err)
		}
	})
}

func TestAChildIsWhatItsSpecSays(t *testing.T) {
	reapertest.AsInit(t, func(t *testing.T) {
		// A descriptor that the unit was started with, not close-on-exec.
		leak, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(leak)
		f := newReaper(t)
		f.start()
		umask := 0o027
		spec := command(reapertest.Shell(`pwd; umask; id -u; id -g; id -G; env | grep -v -e ^_= -e ^PWD= -e ^PATH=; ` +
			`cat; ls /proc/self/fd; [ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && echo leader`))
		spec.Env = append(spec.Env, "A=b c")
		spec.Dir = "/usr"
		spec.Umask = &umask
		spec.Credential = &syscall.Credential{Uid: 65534, Gid: 65533, Groups: []uint32{7}}
		before := unix.Umask(0o022)
		defer unix.Umask(before)
		// 3 is the folder that ls reads.
		want := strings.Join([]string{"/usr", "0027", "65534", "65533", "65533 7", "A=b c", "0", "1", "2", "3", "leader"}, "\n")
		if got := f.output(t, spec); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if got := unix.Umask(0o022); got != 0o022 {
			t.Errorf("the unit's own umask is %04o afterwards", got)
		}
	})
}

func TestNoVariableIsInheritedWhereNoneIsGiven(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		t.Setenv("SUPERVISORD_PASSWORD", "secret")
		f := newReaper(t)
		f.start()
		if got := f.output(t, reaper.Spec{Path: "/usr/bin/env"}); got != "" {
			t.Errorf("the child's environment is %q", got)
		}
	})
}

func TestAroundSurroundsTheForkAndMayRefuseIt(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		f := newReaper(t)
		f.start()
		var forked int
		child := f.run(t, reaper.Spec{Path: "/bin/true", Around: func(fork func() (int, error)) (int, error) {
			pid, err := fork()
			forked = pid
			return pid, err
		}})
		if child.PID() != forked {
			t.Errorf("the child is %d, the fork gave %d", child.PID(), forked)
		}
		receive(t, child.Done(), "the end of the child")
		refusal := errors.New("no mark")
		_, err := f.Start(reaper.Spec{Path: "/bin/true", Around: func(func() (int, error)) (int, error) { return 0, refusal }})
		if !errors.Is(err, refusal) {
			t.Errorf("got %v, want the hook's error", err)
		}
	})
}

func TestExitsReadAsPeopleSayThem(t *testing.T) {
	t.Parallel()
	for want, exit := range map[string]reaper.Exit{
		"exit code 7":           {Code: 7},
		"SIGKILL":               {Signal: syscall.SIGKILL},
		"SIGSEGV (core dumped)": {Signal: syscall.SIGSEGV, Core: true},
		"SIGRTMIN+3":            {Signal: 35},
	} {
		if got := exit.String(); got != want {
			t.Errorf("%+v reads %q, want %q", exit, got, want)
		}
	}
}
