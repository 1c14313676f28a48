package main

import (
	"errors"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/unit/wire"
)

// passwords holds the units' passwords, by node. Like the files of users, password files are read
// on every request, so that a changed password takes effect immediately.
type passwords struct {
	folder string
	logger *slog.Logger // nil until the manager runs

	mu    sync.Mutex
	known map[string][]string // as they were read last
	wrong map[string]string   // the error of each unusable file, logged once
}

func newPasswords(folder string) *passwords {
	return &passwords{folder: folder, known: map[string][]string{}, wrong: map[string]string{}}
}

// readAll reads the password of each node that hosts components.
func (p *passwords) readAll(app *spec.Application) error {
	var problems []error
	tried := map[string]bool{}
	for _, c := range app.Components {
		if tried[c.Node] {
			continue
		}
		tried[c.Node] = true
		passwords, err := p.read(c.Node)
		if err != nil {
			problems = append(problems, err)
		}
		p.known[c.Node] = passwords
	}
	return errors.Join(problems...)
}

// read returns the passwords of a node's unit. During a rotation there are two.
func (p *passwords) read(node string) ([]string, error) {
	if p.folder == "" {
		return nil, errors.New("TOSKOSE_SECRETS is not set")
	}
	text, err := secret("node "+node, filepath.Join(p.folder, node+"-password"))
	if err != nil {
		return nil, err
	}
	return wire.Passwords([]byte(text)), nil
}

// of returns the passwords of a node's unit. If their file is unusable, it returns the previous
// passwords: the file may be incompletely written.
func (p *passwords) of(node string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	passwords, err := p.read(node)
	switch {
	case err == nil:
		p.known[node], p.wrong[node] = passwords, ""
	case p.wrong[node] != err.Error():
		p.wrong[node] = err.Error()
		p.logger.Error("cannot read the password of a unit; the previous one stays in use", "node", node, "error", err)
	}
	return p.known[node]
}
