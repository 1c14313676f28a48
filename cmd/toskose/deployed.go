package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/toskose/toskose/packager/deploy"
)

// The kinds of lines that deploying has as JSON, beside eventError.
const (
	eventStep       = "step"       // a step of it
	eventDeployed   = "deployed"   // the last line, where all of it runs
	eventUndeployed = "undeployed" // the last line, where all of it is gone
)

// jsonSteps makes a JSON object of each line that is written to it.
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

// deployed says where the manager is found, or that nothing runs any more; as
// JSON it is the last line.
type deployed struct {
	Kind        string   `json:"event"`
	Application string   `json:"application,omitempty"`
	Path        string   `json:"path"`
	Address     string   `json:"address,omitempty"` // of the manager
	Forward     string   `json:"forward,omitempty"` // a command: as long as it runs, the manager is there
	Next        []string `json:"next,omitempty"`    // commands
}

func newDeployed(opts deploy.Options, result deploy.Result) *deployed {
	down := []string{"toskose undeploy"}
	if opts.Target != "" {
		down = append(down, "--target", opts.Target)
	}
	if opts.Context != "" {
		down = append(down, "--context", opts.Context)
	}
	curl := login(opts.Dir, result.Info.Manager.User, len(result.Info.External) > 0)
	return &deployed{
		Kind: eventDeployed, Application: result.Info.App, Path: opts.Dir, Address: result.Address, Forward: result.Forward,
		Next: []string{fmt.Sprintf("curl %s %s/api/v1/node/", curl, result.Address), strings.Join(down, " ") + " " + opts.Dir},
	}
}

// print prints it for people.
func (d *deployed) print(w io.Writer) {
	if d.Kind == eventUndeployed {
		return // each step is said
	}
	fmt.Fprintf(w, "\n%s is running. Its manager is at %s, with the API's documentation under /docs", d.Application, d.Address)
	if d.Forward != "" {
		fmt.Fprintf(w, ", as long as this runs:\n  %s\nMeanwhile:\n", d.Forward)
	} else {
		fmt.Fprintln(w, ".")
	}
	fmt.Fprintf(w, "  %s\n", strings.Join(d.Next, "\n  "))
}
