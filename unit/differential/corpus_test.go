package differential

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/txtar"
)

// preamble stands before a configuration that has no [supervisord].
const preamble = `[supervisord]
nodaemon=true
logfile=DIR/main.log
pidfile=DIR/supervisord.pid
childlogdir=DIR
[inet_http_server]
port=127.0.0.1:PORT
username=u
password=p
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=http://127.0.0.1:PORT
username=u
password=p
`

// scenario is what is played to both servers.
type scenario struct {
	name    string
	comment string // of its archive
	files   map[string]string
	steps   []step
	load    bool // only whether the configuration is taken is compared
}

// step is one thing that is done; its key is unique within the scenario.
type step struct {
	key, verb, rest string
	block           []string
}

// readCorpus reads every scenario of testdata/corpus.
func readCorpus() ([]scenario, error) {
	paths, err := filepath.Glob("testdata/corpus/*.txtar")
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("there is no corpus: %w", err)
	}
	var all []scenario
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		s := scenario{name: name, comment: string(archive.Comment), files: map[string]string{}}
		var loads []scenario
		for _, file := range archive.Files {
			text := string(file.Data)
			title, load := strings.CutPrefix(file.Name, "conf: ")
			switch {
			case load:
				one := scenario{name: name + "/" + title, load: true, files: map[string]string{"supervisord.conf": text}}
				loads = append(loads, one)
			case file.Name == "steps":
				s.steps = parseSteps(text)
			default:
				s.files[file.Name] = text
			}
		}
		if len(s.steps) > 0 {
			all = append(all, s)
		}
		for _, one := range loads {
			for file, text := range s.files { // what all of them include
				one.files[file] = text
			}
			all = append(all, one)
		}
	}
	return all, nil
}

func parseSteps(text string) []step {
	var steps []step
	seen := map[string]int{}
	blank := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		block, indented := strings.CutPrefix(line, "  ")
		switch {
		case line == "":
			blank++
			continue
		case indented:
			last := &steps[len(steps)-1]
			for range blank {
				last.block = append(last.block, "")
			}
			last.block = append(last.block, block)
		case line[0] != '#':
			verb, rest, _ := strings.Cut(line, " ")
			key := line
			if seen[line]++; seen[line] > 1 {
				key = fmt.Sprintf("%s (%d)", line, seen[line])
			}
			steps = append(steps, step{key: key, verb: verb, rest: rest})
		}
		blank = 0
	}
	return steps
}

// write puts the files of a scenario into dir and fills in where they are.
func (s scenario) write(dir string, fill *strings.Replacer) error {
	// What a child has open for writing, until it executes something, nobody can execute.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for name, text := range s.files {
		if !strings.Contains(name, "/") && strings.HasSuffix(name, ".conf") && !strings.Contains(text, "[supervisord]") {
			text = preamble + text
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(fill.Replace(text)), mode); err != nil {
			return err
		}
	}
	return nil
}
