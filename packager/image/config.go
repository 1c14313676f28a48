package image

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager"
)

// How often the engine asks for the health of a container. They are in the
// Dockerfile's template, too.
const (
	healthInterval = 3 * time.Second
	healthTimeout  = 5 * time.Second
	healthRetries  = 10
)

// config is the base's with what has to be different: the same that the
// Dockerfile of the job says.
func (j *job) config() *v1.ConfigFile {
	c := j.base.config.DeepCopy()
	c.Created = v1.Time{Time: epoch}
	c.Container, c.DockerVersion, c.Author = "", "", "" //nolint:staticcheck // of the base's build, where it has them
	c.Config.Image = ""
	if j.image.Alone() {
		return c
	}
	if signal := j.signal(); signal != "" {
		c.Config.StopSignal = signal
	}
	if len(j.image.Health) > 0 {
		c.Config.Healthcheck = &v1.HealthConfig{
			Test: append([]string{"CMD"}, j.image.Health...), Interval: healthInterval, Timeout: healthTimeout, Retries: healthRetries,
		}
	}
	if len(j.entry) > 0 {
		c.Config.Entrypoint, c.Config.Cmd = j.entry, nil
	}
	if j.user != "" {
		c.Config.User = j.user
	}
	c.Config.Labels = maps.Clone(c.Config.Labels)
	if c.Config.Labels == nil {
		c.Config.Labels = map[string]string{}
	}
	maps.Copy(c.Config.Labels, j.labels())
	for _, name := range slices.Sorted(maps.Keys(j.image.Env)) {
		c.Config.Env = setEnv(c.Config.Env, name, j.image.Env[name])
	}
	return c
}

func setEnv(env []string, name, value string) []string {
	env = slices.Clone(env)
	for i, pair := range env {
		if n, _, _ := strings.Cut(pair, "="); n == name {
			env[i] = name + "=" + value
			return env
		}
	}
	return append(env, name+"="+value)
}

// signal is the STOPSIGNAL to set: units and managers end on TERM, whatever
// the base had.
func (j *job) signal() string {
	if s := j.base.config.Config.StopSignal; s == "" || s == "SIGTERM" {
		return ""
	}
	return "SIGTERM"
}

// labels are the plan's, and what the base would run by itself.
func (j *job) labels() map[string]string {
	labels := maps.Clone(j.image.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	if !j.image.Unit {
		return labels
	}
	for label, words := range map[string][]string{
		packager.LabelBaseEntrypoint: j.base.config.Config.Entrypoint,
		packager.LabelBaseCommand:    j.base.config.Config.Cmd,
	} {
		if len(words) > 0 {
			text, err := json.Marshal(words)
			if err == nil { // there is no list of words that it cannot encode
				labels[label] = string(text)
			}
		}
	}
	return labels
}

// baseCommand is a script that runs what the base runs by itself, with other
// arguments if it is given any, as the engine would; nil where that is
// nothing.
func baseCommand(c v1.Config) []byte {
	if len(c.Entrypoint)+len(c.Cmd) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# What the base image runs by itself: its entry point, and its command or the arguments given.\n")
	if c.WorkingDir != "" {
		fmt.Fprintf(&b, "cd %s || exit\n", words(c.WorkingDir))
	}
	if len(c.Cmd) > 0 {
		fmt.Fprintf(&b, "[ $# -gt 0 ] || set -- %s\n", words(c.Cmd...))
	}
	if len(c.Entrypoint) > 0 {
		fmt.Fprintf(&b, "exec %s \"$@\"\n", words(c.Entrypoint...))
	} else {
		b.WriteString("exec \"$@\"\n")
	}
	return []byte(b.String())
}

// words quotes words for a shell.
func words(list ...string) string {
	quoted := make([]string, len(list))
	for i, w := range list {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}
