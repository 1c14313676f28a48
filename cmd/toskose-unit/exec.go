package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/config"
)

// runExec replaces this process by a command that runs as the processes of a component do: with their user, folder and
// environment. Without a command, that is a shell.
func runExec(args []string, s system) int {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		fmt.Fprintln(s.stderr, "toskose-unit exec: needs a COMPONENT; see toskose-unit --help")
		return exitConfig
	}
	command := args[1:]
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	running := findRunningUnit(s)
	p, err := running.program(args[0])
	if err == nil {
		err = become(p, running.env, command)
	}
	fmt.Fprintf(s.stderr, "toskose-unit exec: %v\n", err)
	return exitFailed
}

// runningUnit is how the unit of this container was started.
type runningUnit struct {
	args []string
	env  map[string]string
	dir  string
	as   system
}

// findRunningUnit finds the unit of this container: the process of the same binary with the lowest number. If there is none
// that can be read, it assumes one without arguments and with the environment of this process.
func findRunningUnit(s system) runningUnit {
	found := runningUnit{env: s.env, as: s}
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		return found
	}
	entries, _ := os.ReadDir("/proc") // none: see above
	lowest := os.Getpid()
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid >= lowest {
			continue
		}
		at := filepath.Join("/proc", e.Name())
		binary, err := os.Stat(filepath.Join(at, "exe"))
		if err != nil || !os.SameFile(binary, self) {
			continue
		}
		words, err := readWords(filepath.Join(at, "cmdline"))
		if err != nil || len(words) == 0 {
			continue
		}
		if command, _ := parse(words[1:]); command != "run" {
			continue
		}
		variables, err := readWords(filepath.Join(at, "environ"))
		if err != nil {
			continue
		}
		lowest = pid
		_, found.args = parse(words[1:])
		found.dir, _ = os.Readlink(filepath.Join(at, "cwd")) // empty: relative to this process
		found.env = map[string]string{}
		for _, variable := range variables {
			name, value, _ := strings.Cut(variable, "=")
			found.env[name] = value
		}
		found.as.program, found.as.env = words[0], found.env
	}
	return found
}

// readWords reads a file of words that end with a zero byte.
func readWords(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var words []string
	for word := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte{0}), []byte{0}) {
		words = append(words, string(word))
	}
	return words, nil
}

// program returns the program of a component that its processes are started by.
func (u runningUnit) program(component string) (*config.Program, error) {
	f, err := parseFlags(u.args)
	if err != nil {
		return nil, err
	}
	file, err := f.configuration(u.as)
	if err != nil {
		return nil, err
	}
	dir := u.dir
	if dir == "" {
		dir = "/"
	}
	read, _, err := config.LoadFrom(dir, file, u.as.visibleEnv(), f.overrides)
	if err != nil {
		return nil, err
	}
	var found *config.Program
	var names []string
	for i := range read.Groups {
		for j := range read.Groups[i].Programs {
			p := &read.Groups[i].Programs[j]
			name := p.Component
			if name == "" {
				if name = p.FullName(); p.Group == p.Name {
					name = p.Name
				}
			}
			if names = append(names, name); name == component && (found == nil || p.Kind == protocol.KindStart) {
				found = p
			}
		}
	}
	if found == nil {
		slices.Sort(names)
		return nil, fmt.Errorf("no component is named %q; there are %s", component, strings.Join(slices.Compact(names), ", "))
	}
	return found, nil
}

// become replaces this process by a command with the user, folder and environment of a program.
func become(p *config.Program, inherited map[string]string, command []string) error {
	env, err := environmentOf(p, inherited)
	if err != nil {
		return err
	}
	if p.Directory != "" {
		if err := os.Chdir(p.Directory); err != nil {
			return fmt.Errorf("cannot change to the folder of the component: %w", err)
		}
	}
	if p.User != nil && os.Geteuid() == 0 {
		err := syscall.Setgroups(p.User.Groups)
		if err == nil {
			err = syscall.Setgid(p.User.GID)
		}
		if err == nil {
			err = syscall.Setuid(p.User.UID)
		}
		if err != nil {
			return fmt.Errorf("cannot become user %d of the component: %w", p.User.UID, err)
		}
	}
	if len(command) == 0 {
		command = shell()
	}
	if path, ok := env["PATH"]; ok {
		if err := os.Setenv("PATH", path); err != nil { // which LookPath reads
			return err
		}
	}
	file, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return fmt.Errorf("cannot execute %q: %w", file, syscall.Exec(file, command, list))
}

// environmentOf returns the environment of a program: inherited variables, its own variables, and its inputs. Secrets that
// this process may not read are left out.
func environmentOf(p *config.Program, inherited map[string]string) (map[string]string, error) {
	env := unit.WithoutOwn(inherited)
	maps.DeleteFunc(env, func(name, _ string) bool { return strings.HasPrefix(name, "INPUT_") })
	maps.Copy(env, p.Environment)
	for name, value := range p.Inputs {
		env["INPUT_"+name] = value
	}
	files := map[string]string{}
	for name, file := range p.SecretInputs {
		files["INPUT_"+name] = file
	}
	maps.Copy(files, p.SecretEnv)
	for name, file := range files {
		text, err := os.ReadFile(file)
		switch {
		case errors.Is(err, fs.ErrPermission):
		case err != nil:
			return nil, fmt.Errorf("cannot read the secret %s: %w", name, err)
		default:
			env[name] = strings.TrimSuffix(string(text), "\n")
		}
	}
	if term := os.Getenv("TERM"); term != "" {
		env["TERM"] = term
	}
	return env, nil
}

// shell returns bash if the container has it, or else sh.
func shell() []string {
	if file, err := exec.LookPath("bash"); err == nil {
		return []string{file}
	}
	return []string{"/bin/sh"}
}
