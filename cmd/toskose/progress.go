package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/moby/term"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/packager/image/event"
)

// The values of --progress.
const (
	progressAuto     = "auto"
	progressTerminal = "tty"
	progressPlain    = "plain"
	progressJSON     = "json"
)

var progressKinds = []string{progressAuto, progressTerminal, progressPlain, progressJSON}

func checkProgress(kind string) error {
	if !slices.Contains(progressKinds, kind) {
		return cli.Misuse(fmt.Errorf("--progress %q is not one of %s", kind, strings.Join(progressKinds, ", ")))
	}
	return nil
}

// progress displays the progress of building images.
type progress interface {
	event(e event.Event)
	close() // removes the lines of images in progress
}

// newProgress returns the progress for a value of --progress; auto is tty on a terminal, else
// plain.
func newProgress(kind string, env environment, engine engineFlags) progress {
	out := engine.progress(env)
	switch {
	case kind == progressJSON:
		return &jsonProgress{w: out}
	case kind == progressTerminal, kind == progressAuto && env.outTerminal && !slices.Contains(env.environ, "TERM=dumb") && !engine.debug && !engine.quiet:
		if !engine.quiet {
			out = env.out // its escape sequences must not be removed
		}
		return &terminalProgress{w: out, width: terminalWidth(env.out), now: time.Now}
	default:
		return plainProgress{out}
	}
}

// plainProgress prints a line for each step.
type plainProgress struct{ w io.Writer }

func (p plainProgress) event(e event.Event) {
	if e.Text != "" {
		fmt.Fprintln(p.w, e.Text)
	}
}

func (plainProgress) close() {}

// jsonProgress prints a JSON object per line.
type jsonProgress struct{ w io.Writer }

// The kinds of its lines.
const (
	eventImage    = "image"    // something happens to an image
	eventPackaged = "packaged" // the last line, on success
	eventPlanned  = "planned"  // the last line of a dry run
	eventError    = "error"    // the last line otherwise
)

func (p *jsonProgress) event(e event.Event) {
	printJSON(p.w, struct {
		Kind string `json:"event"`
		event.Event
	}{eventImage, e})
}

// fail reports an error, which is also printed as text.
func (p *jsonProgress) fail(err error) {
	printJSON(p.w, struct {
		Kind string `json:"event"`
		Text string `json:"text"`
	}{eventError, err.Error()})
}

func (*jsonProgress) close() {}

func printJSON(w io.Writer, v any) {
	data, err := json.Marshal(v)
	if err != nil { // every event can be encoded
		data = []byte(`{"event":"error","text":"an event cannot be encoded"}`)
	}
	fmt.Fprintf(w, "%s\n", data)
}

// redraws is the shortest time between two redraws of a terminal.
const redraws = 100 * time.Millisecond

// terminalProgress keeps a line for each image in progress, below the lines that
// stay.
type terminalProgress struct {
	w     io.Writer
	width int
	now   func() time.Time

	active []event.Event // in the order in which they began
	drawn  int           // lines
	last   time.Time
}

var underWay = []string{
	event.Pulling, event.Packing, event.Sending, event.Building, event.Writing, event.Pushing,
}

func (p *terminalProgress) event(e event.Event) {
	at := slices.IndexFunc(p.active, func(a event.Event) bool { return a.Image == e.Image })
	moves := slices.Contains(underWay, e.State)
	switch {
	case moves && at >= 0:
		p.active[at] = e
	case moves:
		p.active = append(p.active, e)
	case at >= 0:
		p.active = slices.Delete(p.active, at, at+1)
	}
	if moves && p.now().Sub(p.last) < redraws {
		return
	}
	p.last = p.now()
	text := ""
	if !moves && e.Text != "" {
		text = e.Text + "\n"
	}
	p.draw(text)
}

// draw prints a line that stays and, below it, the images in progress.
func (p *terminalProgress) draw(stays string) {
	var s strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&s, "\x1b[%dA\r\x1b[J", p.drawn) // up to the first of them, and clear from there
	}
	s.WriteString(visible.Lines(stays))
	for _, e := range p.active {
		line := []rune(activity(e))
		s.WriteString(visible.Text(string(line[:min(len(line), p.width-1)])) + "\n")
	}
	p.drawn = len(p.active)
	fmt.Fprint(p.w, s.String())
}

func (p *terminalProgress) close() {
	p.active = nil
	p.draw("")
}

// activity returns the line of an image in progress.
func activity(e event.Event) string {
	line := e.Image + ": " + e.State
	switch {
	case e.Steps > 0:
		line += fmt.Sprintf(", step %d of %d", e.Step, e.Steps)
	case e.Total > 0 && e.Done > 0:
		line += fmt.Sprintf(", %s of %s, %d%%", event.Bytes(e.Done), event.Bytes(e.Total), min(100, e.Done*100/e.Total))
	case e.Total > 0:
		line += " " + event.Bytes(e.Total)
	case e.Done > 0:
		line += ", " + event.Bytes(e.Done)
	}
	return line
}

// terminalWidth returns how many characters fit in a line.
func terminalWidth(w io.Writer) int {
	const usual = 80
	fd, ok := term.GetFdInfo(w)
	if !ok {
		return usual
	}
	size, err := term.GetWinsize(fd)
	if err != nil || size.Width < 20 {
		return usual
	}
	return int(size.Width)
}
