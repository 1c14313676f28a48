package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
)

// version and commit are set when building, by -ldflags "-X main.version=… -X main.commit=…".
var version, commit string

// build identifies the version and commit of this program.
type build struct{ version, commit string }

var built = sync.OnceValue(func() build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(version, commit, info)
})

// buildOf returns the version and commit set by make, or else those recorded by the Go command:
// the module's version after `go install MODULE@VERSION`, or the commit of the checkout.
func buildOf(version, commit string, info *debug.BuildInfo) build {
	b := build{version, commit}
	if info != nil && version == "" && info.Main.Version != "(devel)" {
		b.version = info.Main.Version
	}
	if b.version == "" {
		b.version = "dev"
	}
	if info == nil || commit != "" {
		return b
	}
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			b.commit = setting.Value[:min(len(setting.Value), 12)]
		case setting.Key == "vcs.modified" && setting.Value == "true" && b.commit != "":
			b.commit += "-dirty"
		}
	}
	return b
}

func (b build) String() string {
	with := []string{runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if b.commit != "" {
		with = append([]string{"commit " + b.commit}, with...)
	}
	return fmt.Sprintf("%s (%s)", b.version, strings.Join(with, ", "))
}

func newVersion(env environment) *cobra.Command {
	var form cli.Form
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version, the commit and the Go version", Args: cli.Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			b := built()
			answer := struct {
				Version  string `json:"version"`
				Commit   string `json:"commit,omitempty"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{b.version, b.commit, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return form.Show(env.out, answer, func(out io.Writer) { fmt.Fprintln(out, "toskose", b) })
		},
	}
	form.Register(cmd)
	return cmd
}
