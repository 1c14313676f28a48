package lock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
)

// The labels of the volume or config that stores a lock.
const (
	labelApp    = "io.toskose.lock"        // the application
	labelRecord = "io.toskose.lock.record" // the record, as JSON
)

// onEngine stores a lock in the labels of volumes. The labels of a volume never change, and creating a volume whose name
// exists succeeds without effect. The engine serializes the creation of volumes with the same name, so the labels of the
// resulting volume identify the caller that created it. Each record is therefore a separate volume, numbered one higher than
// the record that it replaces. The volume with the highest number is the lock.
type onEngine struct {
	docker *client.Client
	app    string
}

// OnEngine returns the lock store of an application that runs on one engine.
func OnEngine(docker *client.Client, app string) Store { return onEngine{docker, app} }

// generation is one of the volumes.
type generation struct {
	number int
	name   string
	text   string // the record
}

func (g generation) version() string { return fmt.Sprintf("%d %s", g.number, g.text) }

func (e onEngine) name(number int) string {
	return e.app + "_toskose-lock-" + strconv.Itoa(number)
}

// list returns the volumes in ascending order; the last one is the lock.
func (e onEngine) list(ctx context.Context) ([]generation, error) {
	found, err := e.docker.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelApp+"="+e.app))})
	if err != nil {
		return nil, fmt.Errorf("cannot list the volumes of the lock of %q: %w", e.app, err)
	}
	var all []generation
	for _, v := range found.Volumes {
		number, err := strconv.Atoi(strings.TrimPrefix(v.Name, e.name(0)[:len(e.name(0))-1]))
		if err == nil {
			all = append(all, generation{number, v.Name, v.Labels[labelRecord]})
		}
	}
	slices.SortFunc(all, func(a, b generation) int { return cmp.Compare(a.number, b.number) })
	return all, nil
}

func (e onEngine) Read(ctx context.Context) (*Record, string, error) {
	all, err := e.list(ctx)
	if err != nil || len(all) == 0 {
		return nil, "", err
	}
	last := all[len(all)-1]
	r, err := decode(last.text)
	return r, last.version(), err
}

func (e onEngine) Create(ctx context.Context, r Record) (string, error) { return e.add(ctx, r, 0, "") }

func (e onEngine) Replace(ctx context.Context, r Record, version string) (string, error) {
	number, err := numberOf(version)
	if err != nil {
		return "", err
	}
	return e.add(ctx, r, number, version)
}

// add creates the volume numbered after+1. It succeeds if the previous volume has the version to replace and no other client
// has created a higher number.
func (e onEngine) add(ctx context.Context, r Record, after int, replaces string) (string, error) {
	text := encode(r)
	mine := generation{after + 1, e.name(after + 1), text}
	made, err := e.docker.VolumeCreate(ctx, volume.CreateOptions{Name: mine.name, Labels: map[string]string{labelApp: e.app, labelRecord: text}})
	if err != nil {
		return "", fmt.Errorf("cannot create volume %q, to lock %q: %w", mine.name, e.app, err)
	}
	switch {
	case made.Labels[labelApp] != e.app:
		return "", fmt.Errorf("cannot lock %q: volume %q is not a lock of toskose: rename or remove it", e.app, mine.name)
	case made.Labels[labelRecord] != text:
		return "", ErrChanged
	}
	all, err := e.list(ctx)
	if err != nil {
		return "", errors.Join(err, e.remove(ctx, mine))
	}
	i := slices.IndexFunc(all, func(g generation) bool { return g.version() == mine.version() })
	first := replaces == "" && i == 0
	if i != len(all)-1 || !first && (i < 1 || all[i-1].version() != replaces) {
		return "", errors.Join(ErrChanged, e.remove(ctx, mine))
	}
	for _, old := range all[:i] {
		_ = e.remove(ctx, old) // a remaining old volume is removed with the next one
	}
	return mine.version(), nil
}

func (e onEngine) Remove(ctx context.Context, version string) error {
	all, err := e.list(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 || all[len(all)-1].version() != version {
		return ErrChanged
	}
	for _, g := range all { // in ascending order
		if err := e.remove(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

func (e onEngine) remove(ctx context.Context, g generation) error {
	if err := e.docker.VolumeRemove(ctx, g.name, false); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("cannot remove volume %q: %w", g.name, err)
	}
	return nil
}

func numberOf(version string) (int, error) {
	number, _, _ := strings.Cut(version, " ")
	return strconv.Atoi(number)
}

func encode(r Record) string {
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // cannot fail for plain data
	}
	return string(data)
}

func decode(text string) (*Record, error) {
	var r Record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("cannot read the record of the lock: %w", err)
	}
	return &r, nil
}
