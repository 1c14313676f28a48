package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/packager/image"
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
		return usageError{fmt.Errorf("--progress %q is not one of %s", kind, strings.Join(progressKinds, ", "))}
	}
	return nil
}

// progress shows people or programs what happens while images are made.
type progress interface {
	event(e image.Event)
	close() // takes away what is not to stay
}

// newProgress shows it as --progress says; auto is a terminal's, where there
// is one.
func newProgress(kind string, env environment, engine engineFlags) progress {
	out := engine.progress(env)
	switch {
	case kind == progressJSON:
		return &jsonProgress{w: out}
	case kind == progressTerminal, kind == progressAuto && env.outTerminal && !slices.Contains(env.environ, "TERM=dumb") && !engine.debug && !engine.quiet:
		return &terminalProgress{w: out, width: terminalWidth(env.out), now: time.Now}
	default:
		return plainProgress{out}
	}
}

// plainProgress is a line for each step.
type plainProgress struct{ w io.Writer }

func (p plainProgress) event(e image.Event) {
	if e.Text != "" {
		fmt.Fprintln(p.w, e.Text)
	}
}

func (plainProgress) close() {}

// jsonProgress is a JSON object a line.
type jsonProgress struct{ w io.Writer }

// The kinds of its lines.
const (
	eventImage    = "image"    // something happens to an image
	eventPackaged = "packaged" // the last line, where all went well
	eventPlanned  = "planned"  // the last line of a dry run
	eventError    = "error"    // the last line otherwise
)

func (p *jsonProgress) event(e image.Event) {
	printJSON(p.w, struct {
		Kind string `json:"event"`
		image.Event
	}{eventImage, e})
}

// fail tells of an error, which is printed for people, too.
func (p *jsonProgress) fail(err error) {
	printJSON(p.w, struct {
		Kind string `json:"event"`
		Text string `json:"text"`
	}{eventError, err.Error()})
}

func (*jsonProgress) close() {}

func printJSON(w io.Writer, v any) {
	data, err := json.Marshal(v)
	if err != nil { // there is nothing in events that it cannot encode
		data = []byte(`{"event":"error","text":"an event cannot be encoded"}`)
	}
	fmt.Fprintf(w, "%s\n", data)
}

// redraws is how often a terminal is drawn anew at most.
const redraws = 100 * time.Millisecond

// terminalProgress keeps a line for each image that is under way, below those
// that stay.
type terminalProgress struct {
	w     io.Writer
	width int
	now   func() time.Time

	active []image.Event // in the order in which they began
	drawn  int           // lines
	last   time.Time
}

var underWay = []string{
	image.StatePulling, image.StatePacking, image.StateSending, image.StateBuilding, image.StateWriting, image.StatePushing,
}

func (p *terminalProgress) event(e image.Event) {
	at := slices.IndexFunc(p.active, func(a image.Event) bool { return a.Image == e.Image })
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
	if !moves {
		text = e.Text + "\n"
	}
	p.draw(text)
}

// draw prints what stays, and below it what is under way.
func (p *terminalProgress) draw(stays string) {
	var s strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&s, "\x1b[%dA\r\x1b[J", p.drawn) // up to the first of them, and away
	}
	s.WriteString(stays)
	for _, e := range p.active {
		line := []rune(activity(e))
		s.WriteString(string(line[:min(len(line), p.width-1)]) + "\n")
	}
	p.drawn = len(p.active)
	fmt.Fprint(p.w, s.String())
}

func (p *terminalProgress) close() {
	p.active = nil
	p.draw("")
}

// activity is an image that is under way, as a line.
func activity(e image.Event) string {
	line := e.Image + ": " + e.State
	switch {
	case e.Steps > 0:
		line += fmt.Sprintf(", step %d of %d", e.Step, e.Steps)
	case e.Total > 0 && e.Done > 0:
		line += fmt.Sprintf(", %s of %s, %d%%", image.Bytes(e.Done), image.Bytes(e.Total), min(100, e.Done*100/e.Total))
	case e.Total > 0:
		line += " " + image.Bytes(e.Total)
	case e.Done > 0:
		line += ", " + image.Bytes(e.Done)
	}
	return line
}

// terminalWidth is how many characters fit in a line.
func terminalWidth(w io.Writer) int {
	const usual = 80
	f, ok := w.(*os.File)
	if !ok {
		return usual
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col < 20 {
		return usual
	}
	return int(size.Col)
}
