package main

import (
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/packager/deploy"
)

// The kinds of JSON lines that deploying prints, besides eventError.
const (
	eventStep       = "step"       // one step
	eventDeployed   = "deployed"   // the last line, if everything runs
	eventStored     = "stored"     // the last line, if the application is below a level that is not deployed
	eventUndeployed = "undeployed" // the last line, if everything was removed
)

// jsonSteps writes each line as a JSON object.
type jsonSteps struct{ w io.Writer }

func (s jsonSteps) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		printJSON(s.w, struct {
			Kind string `json:"event"`
			Text string `json:"text"`
		}{eventStep, strings.TrimSuffix(line, "\n")})
	}
	return len(p), nil
}

// deployment is the outcome of deploy or undeploy; as JSON it is the last line.
type deployment struct {
	Kind        string   `json:"event"`
	Application string   `json:"application,omitempty"`
	Path        string   `json:"path"`
	Address     string   `json:"address,omitempty"` // of the manager
	Context     string   `json:"context,omitempty"` // that other commands ask it by
	Forward     string   `json:"forward,omitempty"` // a command: while it runs, the manager is at Address
	Next        []string `json:"next,omitempty"`    // commands
}

func newDeployment(opts deploy.Options, result deploy.Result) *deployment {
	if result.Stored {
		return &deployment{Kind: eventStored, Application: result.Info.App, Path: opts.Dir}
	}
	down := []string{"toskose undeploy"}
	if opts.Target != "" {
		down = append(down, "--target", opts.Target)
	}
	if opts.Context != "" {
		down = append(down, "--context", opts.Context)
	}
	external := len(result.Info.External) > 0
	var next []string
	if !external {
		at := " --dir " + cli.Word(opts.Dir)
		if u, err := url.Parse(result.Address); err == nil && u.Hostname() != result.Info.Manager.Host() && u.Hostname() != "127.0.0.1" {
			at += " --manager " + result.Address
		}
		next = append(next, "toskose up"+at, "toskose ps"+at)
	}
	next = append(next, curl(opts.Dir, result.Info.Manager, external, result.Address))
	return &deployment{
		Kind: eventDeployed, Application: result.Info.App, Path: opts.Dir, Address: result.Address, Forward: result.Forward,
		Next: append(next, strings.Join(down, " ")+" "+cli.Word(opts.Dir)),
	}
}

// print prints it as text.
func (d *deployment) print(w io.Writer) {
	switch d.Kind {
	case eventUndeployed:
		return // each step has been printed
	case eventStored:
		fmt.Fprintf(w, "\n%s is stored: it runs when the level above it is deployed.\n", d.Application)
		return
	}
	fmt.Fprintf(w, "\n%s is running. Its manager is at %s, with the API's documentation under /docs", d.Application, d.Address)
	if d.Forward != "" {
		fmt.Fprintf(w, ", while this command runs:\n  %s\nThen:\n", d.Forward)
	} else {
		fmt.Fprintln(w, ".")
	}
	fmt.Fprintf(w, "  %s\n", strings.Join(d.Next, "\n  "))
}
