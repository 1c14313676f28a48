package main

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
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

// readAll reads the password of each node that hosts components, or is attached.
func (p *passwords) readAll(app *spec.Application) error {
	var nodes []string
	for _, c := range app.Components {
		nodes = append(nodes, c.Node)
	}
	for _, n := range app.Nodes {
		if n.Attached != nil {
			nodes = append(nodes, n.Name)
		}
	}
	slices.Sort(nodes)
	var problems []error
	for _, node := range slices.Compact(nodes) {
		passwords, err := p.read(node)
		if err != nil {
			problems = append(problems, err)
		}
		p.known[node] = passwords
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
