package contexts

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Each terminal session selects a context of its own, so that no shell switches the context of another. The selections are
// files in the folder of contexts, named after the session.

// abandoned is the age from which a selection is removed, since its session has most likely ended.
const abandoned = 90 * 24 * time.Hour

func (s Store) selection() string { return filepath.Join(s.dir, "sessions", s.session) }

// Use selects a context for this session.
func (s Store) Use(name string) error {
	if _, err := s.Get(name); err != nil {
		return err
	}
	s.removeAbandoned()
	if err := write(s.selection(), []byte(name+"\n")); err != nil {
		return fmt.Errorf("cannot change to context %q: %w", name, err)
	}
	return nil
}

// Current returns the name of the context of this session: the selected one or, if there is just one, that. The error is
// ErrNone if there is none, or several and none is selected.
func (s Store) Current() (string, error) {
	text, err := os.ReadFile(s.selection())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("cannot read which context is selected: %w", err)
	}
	names, listErr := s.Names()
	if listErr != nil {
		return "", listErr
	}
	selected := strings.TrimSpace(string(text))
	for _, name := range names {
		if name == selected {
			return name, nil
		}
	}
	switch len(names) {
	case 0:
		return "", ErrNone
	case 1:
		return names[0], nil
	}
	return "", fmt.Errorf("%w in this terminal, and there are several: %s (`toskose context use NAME` selects one)", ErrNone, strings.Join(names, ", "))
}

// removeAbandoned removes selections that have not changed for long.
func (s Store) removeAbandoned() {
	dir := filepath.Dir(s.selection())
	entries, _ := os.ReadDir(dir) // they are removed later
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// leave removes a context from all selections.
func (s Store) leave(name string) error {
	dir := filepath.Dir(s.selection())
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		if text, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(text)) == name {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// sessionName returns the name of the terminal session of this process.
func sessionName() string { return cmp.Or(sessionID(), "none") }
