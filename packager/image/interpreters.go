package image

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/source"
	"github.com/toskose/toskose/tosca"
)

// interpreter is a program that runs a script: one of several files.
type interpreter struct {
	name  string
	files []string // absolute
}

// warnOfInterpreters warns about scripts whose interpreter is not in the base image, where this is
// cheap to find out. It is not an error: an earlier operation may install the interpreter.
func (b *Builder) warnOfInterpreters(ctx context.Context, variants []*variant, archive fs.FS) {
	missing := map[*source.Image]map[string]bool{}
	for _, v := range variants {
		if base := v.Base.Image; base != nil && base.Missing != nil && missing[base] == nil {
			missing[base] = b.missing(ctx, base, variants, archive)
		}
	}
	for _, v := range variants {
		missing := missing[v.Base.Image]
		for _, script := range v.image.Scripts {
			for _, i := range interpretersOf(archive, script, v) {
				if !slices.ContainsFunc(i.files, func(file string) bool { return !missing[file] }) {
					b.log.Line(event.Event{Image: v.image.Name, State: event.Warning}, "warning: script %q is run by %s, which base image %q does not have", script, i.name, v.Base.Ref)
				}
			}
		}
	}
}

// missing returns the interpreters of the variants' scripts that do not exist in a base.
func (b *Builder) missing(ctx context.Context, base *source.Image, variants []*variant, archive fs.FS) map[string]bool {
	wanted := map[string]bool{}
	for _, v := range variants {
		if v.Base.Image != base {
			continue
		}
		for _, script := range v.image.Scripts {
			for _, i := range interpretersOf(archive, script, v) {
				for _, file := range i.files {
					wanted[file] = true
				}
			}
		}
	}
	missing := map[string]bool{}
	if len(wanted) == 0 {
		return missing
	}
	files, err := base.Missing(ctx, slices.Sorted(maps.Keys(wanted)))
	if err != nil {
		b.log.Debugf("cannot look for interpreters: %v", err)
		return missing
	}
	for _, file := range files {
		missing[file] = true
	}
	return missing
}

// interpretersOf returns the interpreters of a variant's script.
func interpretersOf(archive fs.FS, script string, v *variant) []interpreter {
	f, err := archive.Open(script)
	if err != nil {
		return nil // already reported
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, maxFirstLine)).ReadString('\n')
	search := v.image.Path
	for _, variable := range v.Base.Config.Config.Env {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok && search == "" {
			search = value
		}
	}
	return interpreters(line, search)
}

const (
	maxFirstLine = 512 // bytes: kernels read less
	defaultPath  = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// interpreters returns the interpreters of a script with the given first line. It searches the
// PATH in search for env's interpreter, and skips lines that it cannot interpret with certainty.
func interpreters(line, search string) []interpreter {
	if !tosca.RunsItself([]byte(line)) {
		return []interpreter{file("/bin/sh")}
	}
	words, ok := strings.CutPrefix(line, "#!")
	fields := strings.Fields(words)
	if !ok || len(fields) == 0 || !path.IsAbs(fields[0]) {
		return nil
	}
	all := []interpreter{file(fields[0])}
	if path.Base(fields[0]) != "env" || len(fields) < 2 {
		return all
	}
	name := fields[1]
	if name == "-S" && len(fields) > 2 {
		name = fields[2]
	}
	switch {
	case path.IsAbs(name):
		return append(all, file(name))
	case strings.HasPrefix(name, "-") || strings.ContainsAny(name, `=/"'\$`):
		return all
	}
	found := interpreter{name: name}
	if search == "" {
		search = defaultPath
	}
	for dir := range strings.SplitSeq(search, ":") {
		if !path.IsAbs(dir) {
			return all
		}
		found.files = append(found.files, path.Join(dir, name))
	}
	return append(all, found)
}

func file(name string) interpreter { return interpreter{name: name, files: []string{name}} }
