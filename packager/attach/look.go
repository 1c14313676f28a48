package attach

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"
	"golang.org/x/sync/errgroup"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
)

// maxParallel is the number of images that are inspected concurrently.
const maxParallel = 4

// look returns the findings of all services, by name.
func (p *project) look(ctx context.Context, opts Options, arch string) ([]Finding, error) {
	names := p.ServiceNames()
	slices.Sort(names)
	findings, problems := make([]Finding, len(names)), make([]error, len(names))
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i, name := range names {
		group.Go(func() error {
			findings[i], problems[i] = p.lookInto(ctx, opts, p.Services[name], arch)
			return nil
		})
	}
	_ = group.Wait() // the errors are in problems
	return findings, errors.Join(problems...)
}

// lookInto returns the finding of a service. Its error says how to get a missing image.
func (p *project) lookInto(ctx context.Context, opts Options, s types.ServiceConfig, arch string) (Finding, error) {
	f := Finding{Service: s.Name, Image: p.imageOf(ctx, opts.Images, s)}
	forced := slices.Contains(opts.Services, s.Name)
	switch {
	case slices.Contains(opts.Exclude, s.Name):
		f.Reason = "excluded with --exclude"
		return f, nil
	case len(opts.Services) > 0 && !forced:
		f.Reason = "not among the services of --service"
		return f, nil
	case s.NetworkMode != "":
		f.Reason = fmt.Sprintf("network_mode: %s: the manager cannot reach it by its name", s.NetworkMode)
		return f, forcedError(f, forced)
	}
	if _, of, ok := strings.Cut(s.Platform, "/"); ok {
		arch, _, _ = strings.Cut(of, "/")
	}
	if err := inspect(ctx, opts, s, p.Configs, arch, &f); err != nil {
		return f, fmt.Errorf("service %q: %w: %s, or leave the service out with --exclude %s", s.Name, err, howToGet(s), s.Name)
	}
	if err := needsUnit(opts, &f); err != nil {
		return f, err
	}
	return f, forcedError(f, forced)
}

// inspect completes the finding from the image and mounted files.
func inspect(ctx context.Context, opts Options, s types.ServiceConfig, configs types.Configs, arch string, f *Finding) error {
	return opts.Images.Inspect(ctx, f.Image, arch, func(c *image.Contents) error {
		c.Files = withMounts(c.Files, s, configs)
		l := looker{ctx: ctx, contents: c, service: s}
		return l.find(f, slices.Contains(opts.Services, f.Service))
	})
}

// needsUnit makes a finding negative if its architecture has no unit.
func needsUnit(opts Options, f *Finding) error {
	if !f.Attached {
		return nil
	}
	file, _, err := image.FindBinary(opts.Binaries, unitBinary, f.arch)
	if err == nil && file == "" {
		f.Attached, f.Reason = false, fmt.Sprintf("its image is for %s, and toskose has no unit for it", f.arch)
	}
	return err
}

// forcedError returns an error for a service that the user selected and that cannot be attached.
func forcedError(f Finding, forced bool) error {
	if !forced || f.Attached {
		return nil
	}
	return fmt.Errorf("service %q cannot be attached: %s", f.Service, f.Reason)
}

// imageOf returns the name of a service's image. Two versions of Compose name the image of a build
// differently.
func (p *project) imageOf(ctx context.Context, images Images, s types.ServiceConfig) string {
	if s.Image != "" {
		return s.Image
	}
	name := p.Name + "-" + s.Name
	if found := images.OnEngine(ctx, name, p.Name+"_"+s.Name); found != "" {
		return found
	}
	return name
}

func howToGet(s types.ServiceConfig) string {
	if s.Build != nil {
		return "build it with `docker compose build " + s.Name + "`"
	}
	return "get it with `docker compose pull " + s.Name + "`"
}

// looker looks into the image of one service.
type looker struct {
	ctx      context.Context
	contents *image.Contents
	service  types.ServiceConfig
}

// find completes the finding.
func (l *looker) find(f *Finding, forced bool) error {
	f.arch = l.contents.Architecture
	if l.contents.Labels[packager.LabelVersion] != "" {
		f.Reason = "its image was packaged by toskose, and has a unit"
		return nil
	}
	started, err := l.start()
	if err != nil {
		return err
	}
	f.Supervisord, err = l.paths(started)
	if err != nil {
		return err
	}
	switch {
	case len(f.Supervisord) == 0:
		f.Reason = "no supervisord in its image"
		return nil
	case !started.found && !forced:
		f.Reason = fmt.Sprintf("its command does not name supervisord, which its image has; --service %s attaches it", f.Service)
		f.Supervisord = nil
		return nil
	}
	for _, target := range f.Supervisord {
		if slices.ContainsFunc(l.service.Volumes, func(v types.ServiceVolumeConfig) bool { return path.Clean(v.Target) == target }) {
			f.Reason = "the service mounts a file over " + target
			f.Supervisord = nil
			return nil
		}
	}
	conf, err := l.configuration(started, f.Supervisord)
	if err != nil {
		return err
	}
	if f.Notes, err = l.implementation(f.Supervisord); err != nil {
		return err
	}
	f.Notes = append(f.Notes, conf.notes...)
	f.Port = l.freePort(conf)
	f.Attached = true
	return nil
}

// start describes how a container starts supervisord, as far as its scripts show it.
type start struct {
	found bool     // supervisord is named
	paths []string // absolute paths of supervisord
	confs []string // absolute paths of its configuration
}

// Limits of following scripts.
const (
	maxScripts = 32
	maxScript  = 64 << 10 // bytes
)

var (
	absolutePath = regexp.MustCompile(`/[\w.+@-]+(?:/[\w.+@-]+)*`)
	confOption   = regexp.MustCompile(`supervisord\b[^\n;|&]*?\s(?:-c|--configuration)(?:\s+|=)?['"]?(/[\w./+@-]+)`)
)

// start reads the command line, the scripts that it names, and the scripts that they name.
func (l *looker) start() (start, error) {
	words := slices.Concat(l.entrypoint(), l.command())
	texts := []string{strings.Join(words, " ")}
	if len(words) > 0 && !path.IsAbs(words[0]) {
		if found, err := l.onPath(words[0]); err != nil {
			return start{}, err
		} else if found != "" {
			texts = append(texts, found)
		}
	}
	var s start
	seen := map[string]bool{}
	for len(texts) > 0 {
		text := texts[0]
		texts = texts[1:]
		s.found = s.found || strings.Contains(text, "supervisord")
		for _, m := range confOption.FindAllStringSubmatch(text, -1) {
			s.confs = append(s.confs, m[1])
		}
		for _, name := range absolutePath.FindAllString(text, -1) {
			if seen[name] || len(seen) >= maxScripts {
				continue
			}
			seen[name] = true
			if path.Base(name) == "supervisord" {
				s.paths = append(s.paths, name)
				continue
			}
			script, err := l.script(name)
			if err != nil {
				return s, err
			}
			texts = append(texts, script)
		}
	}
	return s, nil
}

func (l *looker) entrypoint() []string {
	if l.service.Entrypoint != nil {
		return l.service.Entrypoint
	}
	return l.contents.Entrypoint
}

// command returns the command; a service's entry point replaces the image's command, too.
func (l *looker) command() []string {
	switch {
	case l.service.Command != nil:
		return l.service.Command
	case l.service.Entrypoint != nil:
		return nil
	}
	return l.contents.Command
}

// script returns the text of a script, or "" if the file is not one.
func (l *looker) script(name string) (string, error) {
	file, err := l.contents.Files.Stat(l.ctx, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!file.Mode.IsRegular() || file.Size > maxScript) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	data, err := l.contents.Files.Read(l.ctx, file.Path, maxScript)
	if text := string(data); strings.HasPrefix(text, "#!") {
		return text, err
	}
	return "", err
}

// paths returns where supervisord is in the image, without duplicates.
func (l *looker) paths(s start) (found []string, err error) {
	onPath, err := l.onPath("supervisord")
	if err != nil {
		return nil, err
	}
	for _, name := range append([]string{onPath}, s.paths...) {
		if name == "" {
			continue
		}
		file, err := l.contents.Files.Stat(l.ctx, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case file.Mode.IsRegular() && !slices.Contains(found, file.Path):
			found = append(found, file.Path)
		}
	}
	return found, nil
}

// implementation notes that a supervisord is not Supervisor's, which is a script.
func (l *looker) implementation(paths []string) (notes []string, err error) {
	const script = "#!"
	for _, name := range paths {
		data, err := l.contents.Files.Read(l.ctx, name, int64(len(script)))
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
		if string(data) != script {
			notes = append(notes, name+" is a binary and not Supervisor's script: settings that only it knows have no effect")
		}
	}
	return notes, nil
}

// defaultPath is the PATH of a container whose image sets none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// onPath returns the path of a program, or "".
func (l *looker) onPath(program string) (string, error) {
	search := defaultPath
	for _, variable := range l.contents.Env {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			search = value
		}
	}
	if value := l.service.Environment["PATH"]; value != nil {
		search = *value
	}
	for dir := range strings.SplitSeq(search, ":") {
		if !path.IsAbs(dir) {
			continue
		}
		file, err := l.contents.Files.Stat(l.ctx, path.Join(dir, program))
		if err == nil && file.Mode.IsRegular() {
			return path.Join(dir, program), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", nil
}

// Ports of a unit, unless the service uses them.
const (
	unitPort    = 9001
	unknownPort = 19001 // if supervisord.conf, which often opens 9001, is not known
)

// freePort returns a port that neither the service, its image nor its supervisord.conf names.
func (l *looker) freePort(conf configuration) int {
	used := append(slices.Clone(conf.ports), l.contents.Ports...)
	for _, p := range l.service.Ports {
		used = append(used, int(p.Target))
	}
	for _, text := range l.service.Expose {
		number, _, _ := strings.Cut(text, "/")
		first, last, isRange := strings.Cut(number, "-")
		low, err := strconv.Atoi(first)
		if err != nil {
			continue
		}
		high := low
		if isRange {
			if high, err = strconv.Atoi(last); err != nil {
				continue
			}
		}
		for port := max(low, unitPort); port <= min(high, 65535); port++ {
			used = append(used, port)
		}
	}
	port := unitPort
	if !conf.known {
		port = unknownPort
	}
	for slices.Contains(used, port) {
		port++
	}
	return port
}
