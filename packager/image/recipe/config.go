package recipe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/layer"
)

// Config returns the base's configuration with the same changes as the Dockerfile.
func (i *Image) Config() *v1.ConfigFile {
	c := i.Base.Config.DeepCopy()
	c.Created = v1.Time{Time: layer.Epoch}
	c.Container, c.DockerVersion, c.Author = "", "", "" //nolint:staticcheck // of the base's build
	c.Config.Image = ""
	if i.Plan.Alone() {
		return c
	}
	if signal := i.signal(); signal != "" {
		c.Config.StopSignal = signal
	}
	if len(i.Plan.Health) > 0 {
		c.Config.Healthcheck = &v1.HealthConfig{
			Test: append([]string{"CMD"}, i.Plan.Health...), Interval: packager.HealthInterval, Timeout: packager.HealthTimeout, Retries: packager.HealthRetries,
		}
	}
	if len(i.Entry) > 0 {
		c.Config.Entrypoint, c.Config.Cmd = i.Entry, nil
	}
	if i.User != "" {
		c.Config.User = i.User
	}
	c.Config.Labels = maps.Clone(c.Config.Labels)
	if c.Config.Labels == nil {
		c.Config.Labels = map[string]string{}
	}
	maps.Copy(c.Config.Labels, i.labels())
	for _, name := range slices.Sorted(maps.Keys(i.Plan.Env)) {
		c.Config.Env = setEnv(c.Config.Env, name, i.Plan.Env[name])
	}
	return c
}

func setEnv(env []string, name, value string) []string {
	env = slices.Clone(env)
	for at, pair := range env {
		if n, _, _ := strings.Cut(pair, "="); n == name {
			env[at] = name + "=" + value
			return env
		}
	}
	return append(env, name+"="+value)
}

// signal returns the STOPSIGNAL to set: units and managers exit on TERM, so the base's signal must
// be replaced.
func (i *Image) signal() string {
	if s := i.Base.Config.Config.StopSignal; s == "" || s == "SIGTERM" {
		return ""
	}
	return "SIGTERM"
}

// labels returns the plan's labels and, with a unit, labels with the base's entry point and
// command.
func (i *Image) labels() map[string]string {
	labels := maps.Clone(i.Plan.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	if !i.Plan.Unit {
		return labels
	}
	for label, words := range map[string][]string{
		packager.LabelBaseEntrypoint: i.Base.Config.Config.Entrypoint,
		packager.LabelBaseCommand:    i.Base.Config.Config.Cmd,
	} {
		if len(words) > 0 {
			text, err := json.Marshal(words)
			if err == nil { // every list of words can be encoded
				labels[label] = string(text)
			}
		}
	}
	return labels
}

// baseCommand returns a script that runs the base's entry point with the base's command or, as the
// engine would, with the given arguments. It returns nil if the base has no command.
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
