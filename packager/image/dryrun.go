package image

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/toskose/toskose/packager"
)

// DryRun says what Build would do, and asks nobody.
func (b *Builder) DryRun(plan *packager.Plan, archive fs.FS) error {
	opts, err := b.opts.Complete()
	if err != nil {
		return err
	}
	places := map[string]string{PlaceEngine: "the engine", PlaceRegistry: "its registry"}
	bases, output := places[opts.Bases], places[opts.Output]
	if bases == "" {
		bases = strings.TrimPrefix(opts.Bases, prefixOCI)
	}
	if output == "" {
		output = strings.TrimPrefix(opts.Output, prefixOCI)
	}
	if opts.Bases == PlaceEngine {
		bases += map[string]string{PullAlways: ", after a pull", PullMissing: ", pulled if missing", PullNever: ", never pulled"}[opts.Pull]
	}
	platforms := ""
	if len(opts.Platforms) > 0 {
		platforms = " for " + strings.Join(opts.Platforms, ", ")
	}
	for _, i := range plan.Images {
		if i.Dockerfile != "" {
			if err := b.dryGiven(i, archive, opts, platforms); err != nil {
				return err
			}
		}
		if i.Alone() {
			b.dryOutput(i, opts, output)
			continue
		}
		files, size, err := extent(i, archive)
		if err != nil {
			return err
		}
		base := i.Base
		switch {
		case base == "" && opts.ManagerImage != "":
			base = opts.ManagerImage
		case base == "":
			base = scratch
		}
		from := ""
		if base != scratch && i.Dockerfile == "" {
			from = " (from " + bases + ")"
		}
		what := "build " + i.Name
		if opts.Contexts != "" {
			what = "write a build context for " + i.Name
		}
		b.plan(i.Name, "would %s on %s%s%s: %d files of the application, %s", what, base, from, platforms, files, Bytes(size))
		b.dryOutput(i, opts, output)
	}
	return nil
}

// plan says what would be done to an image.
func (b *Builder) plan(name, format string, args ...any) {
	b.moved(Event{Image: name, State: StatePlanned, Text: fmt.Sprintf(format, args...)})
}

// dryOutput says where an image would go.
func (b *Builder) dryOutput(i packager.Image, opts Options, output string) {
	if opts.Contexts == "" && opts.Output != PlaceEngine {
		b.plan(i.Name, "would write %s to %s", i.Name, output)
	}
	if opts.Push {
		b.plan(i.Name, "would push %s", i.Name)
	}
}

// dryGiven says what an engine would build from the archive.
func (b *Builder) dryGiven(i packager.Image, archive fs.FS, opts Options, platforms string) error {
	g, err := readGiven(i, archive)
	if err != nil {
		return err
	}
	what, by := "build", ", by the engine"
	switch {
	case opts.Contexts != "" && i.Alone():
		what, by = "write a build context for", ""
	case opts.Contexts != "":
		what = "write a build context for, and build,"
	}
	on := ""
	if len(g.parent) > 0 {
		on = ", on " + strings.Join(g.parent, ", ")
	}
	b.plan(i.Base, "would %s %s from %s%s%s%s: %d files, %s", what, i.Base, i.Dockerfile, on, by, platforms, g.tree.files(), Bytes(g.tree.contents()))
	return nil
}

// extent is how many files an image gets, and how large they are together.
func extent(i packager.Image, archive fs.FS) (files int, size int64, err error) {
	for _, f := range i.Files {
		if f.Dir {
			continue
		}
		files, size = files+1, size+int64(len(f.Data))
		if f.Source != "" {
			info, err := fs.Stat(archive, f.Source)
			if err != nil {
				return 0, 0, err
			}
			size += info.Size()
		}
	}
	return files, size, nil
}
