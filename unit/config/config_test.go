package config

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func options(files fs.FS) Options {
	return Options{
		FS: files, Dir: "/cwd", Host: "host",
		Env: map[string]string{
			"HOME": "/home/me", "PORT": "9001", "SUPERVISORD_LOG_LEVEL": "info",
			"SUPERVISORD_USER": "admin", "PASSWORD": "s3cret",
		},
	}
}

// shown is what a golden file holds.
type shown struct {
	Problems []string `json:",omitempty"`
	Warnings []string `json:",omitempty"`
	Config   *Config  `json:",omitempty"`
}

func show(c *Config, warnings []Warning, err error) shown {
	s := shown{Config: c}
	for _, w := range warnings {
		s.Warnings = append(s.Warnings, w.String())
	}
	var problems Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			s.Problems = append(s.Problems, p.Error())
		}
	}
	return s
}

func TestEachFileGivesItsConfigurationOrItsProblems(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.conf")
	if err != nil || len(names) < 9 {
		t.Fatalf("files: %v, %v", names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			c, warnings, err := Parse("/"+filepath.Base(name), options(os.DirFS("testdata")))
			if (c == nil) != (err != nil) {
				t.Fatalf("both or neither of a configuration and an error: %v", err)
			}
			got, err := json.MarshalIndent(show(c, warnings, err), "", " ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := strings.TrimSuffix(name, ".conf") + ".golden.json"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// parse reads one file, below a [supervisord] section.
func parse(t *testing.T, text string) (*Config, []Warning, error) {
	t.Helper()
	return Parse("/x.conf", options(fstest.MapFS{"x.conf": {Data: []byte("[supervisord]\n" + text)}}))
}

func TestProblemsNeverShowASecret(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/wrong-*.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		_, warnings, err := Parse("/"+filepath.Base(name), options(os.DirFS("testdata")))
		if text := fmt.Sprint(warnings, err); err == nil || strings.Contains(text, "s3cret") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	for _, text := range []string{
		"[inet_http_server]\nport=%(ENV_PASSWORD)s",
		"[unix_http_server]\nfile=x\npassword=%(ENV_PASSWORD)s%(",
		"[program:x]\ncommand=x\nstartsecs=%(ENV_PASSWORD)s\nuser=0",
		"[program:x]\ncommand=x\nenvironment=A=s3cret@host",
		"[program:x]\ncommand=x\nenvironment=A='s3cret",
		"[program:x]\ncommand=x\nenvironment=A=\"x\",\ns3cret",
		"[program:x]\ncommand='%(ENV_PASSWORD)s",
		"[program:x]\ncommand=x\ntoskose_component=c\ntoskose_interface=i\ntoskose_operation=run\ntoskose_inputs={\"A\":\"s3cret\" \"}",
	} {
		_, warnings, err := parse(t, text)
		if shown := fmt.Sprint(warnings, err); err == nil || strings.Contains(shown, "s3cret") {
			t.Errorf("%s:\n%s", text, shown)
		}
	}
}

func TestEqualFilesGiveEqualConfigurations(t *testing.T) {
	t.Parallel()
	for range 20 {
		a, aWarnings, aErr := Parse("/full.conf", options(os.DirFS("testdata")))
		b, bWarnings, bErr := Parse("/full.conf", options(os.DirFS("testdata")))
		if aErr != nil || bErr != nil || !reflect.DeepEqual(a, b) || !slices.Equal(aWarnings, bWarnings) {
			t.Fatalf("they differ: %v, %v", aErr, bErr)
		}
	}
}

func TestLoadReadsTheMachinesFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "unit.conf")
	text := "[supervisord]\nlogfile=%(here)s/log\n[program:x]\ncommand=%(ENV_X)s\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, warnings, err := Load(file, map[string]string{"X": "/bin/x y"})
	if err != nil || len(warnings) != 0 || c.Supervisord.LogFile != dir+"/log" || c.File != file {
		t.Fatalf("Load: %+v, %v, %v", c, warnings, err)
	}
	program, ok := c.Program("x", "x")
	if !ok || !slices.Equal(program.Argv, []string{"/bin/x", "y"}) {
		t.Fatalf("the program is %+v", program)
	}
	if _, ok := c.Program("x", "y"); ok {
		t.Error("there is a program that nobody configured")
	}
	_, _, err = Load(filepath.Join(dir, "missing.conf"), nil)
	if want := "cannot read " + dir + "/missing.conf: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("a missing file: %v, want %s", err, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v is not fs.ErrNotExist", err)
	}
}

func TestAnIncludedFileThatCannotBeReadIsAProblem(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"x.conf":      {Data: []byte("[supervisord]\n[include]\nfiles=d/* /e/[!b].conf d/[\n")},
		"d/dir/x":     {Data: []byte("")},
		"e/a.conf":    {Data: []byte("[program:a]\ncommand=a\n[include]\nfiles=more\n")},
		"e/b.conf":    {Data: []byte("garbage")},
		"more":        {Data: []byte("garbage")},
		"d/plain":     {Data: []byte("[program:p]\nx")},
		"unused.conf": {Data: []byte("garbage")},
	}
	_, warnings, err := Parse("/x.conf", options(files))
	want := "/x.conf:3: [include] cannot include /d/dir: invalid argument\n" +
		"/x.conf:3: [include] files has a malformed pattern: /d/[\n" +
		"/d/plain:2: [program:p] has a line that is neither key=value nor the continuation of one\n" +
		"/d/plain:1: [program:p] lacks command"
	if err == nil {
		t.Fatal("there is no error")
	}
	for _, line := range strings.Split(want, "\n")[1:] {
		if !strings.Contains(err.Error(), line) {
			t.Errorf("%q is missing in:\n%s", line, err)
		}
	}
	if !strings.Contains(err.Error(), "cannot include /d/dir") || strings.Contains(err.Error(), "unused") {
		t.Errorf("the error is:\n%s", err)
	}
	if !strings.Contains(fmt.Sprint(warnings), "[include] of a file that is itself included is ignored") {
		t.Errorf("the warnings are %v", warnings)
	}
}

func TestLogLevelsHaveTheOrderOfSlog(t *testing.T) {
	t.Parallel()
	levels := []LogLevel{LevelCritical, LevelError, LevelWarn, LevelInfo, LevelDebug, LevelTrace, LevelBlather}
	for i, level := range levels[1:] {
		if level.Slog() >= levels[i].Slog() {
			t.Errorf("%s is not below %s", level, levels[i])
		}
	}
}

// FuzzParse: any file gives a configuration or an error, and the same one
// again.
func FuzzParse(f *testing.F) {
	names, err := filepath.Glob("testdata/*.conf")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := fstest.MapFS{"x.conf": {Data: []byte(text)}}
		c, warnings, err := Parse("/x.conf", options(files))
		if (c == nil) == (err == nil) {
			t.Fatalf("both or neither of %+v and %v", c, err)
		}
		if strings.Contains(fmt.Sprint(err, warnings), "s3cret") && !strings.Contains(text, "s3cret") {
			t.Fatalf("a secret is shown: %v", err)
		}
		again, _, err2 := Parse("/x.conf", options(files))
		if !reflect.DeepEqual(c, again) || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("read again it is another: %v, %v", err, err2)
		}
		if c == nil {
			return
		}
		for _, g := range c.Groups {
			for _, p := range g.Programs {
				if len(p.Argv) == 0 || p.Name == "" || p.Group != g.Name {
					t.Fatalf("a program is half made: %+v", p)
				}
			}
		}
	})
}

func TestRelativePathsStartFromTheFolderOfTheFirstReading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "[supervisord]\ndirectory=/\n[program:p]\ncommand=p\nstdout_logfile=p.log\n"
	if err := os.WriteFile(filepath.Join(dir, "unit.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"unit.conf", filepath.Join(dir, "unit.conf")} {
		c, _, err := LoadFrom(dir, file, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := c.Program("p", "p")
		if !ok || p.Stdout.Path != filepath.Join(dir, "p.log") || c.File != filepath.Join(dir, "unit.conf") {
			t.Errorf("%s: %+v of %s", file, p, c.File)
		}
	}
}
