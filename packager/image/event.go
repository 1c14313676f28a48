package image

import (
	"fmt"
	"io"
	"strings"
)

// What is being done to an image, and then what has become of it.
const (
	StatePulling  = "pulling"  // by the engine
	StatePacking  = "packing"  // its files are read, to know the layers they make
	StateSending  = "sending"  // to the engine
	StateBuilding = "building" // by the engine, step by step
	StateWriting  = "writing"  // to a layout
	StatePushing  = "pushing"  // to a registry

	StateRetrying  = "retrying" // a push that has ended early is tried again
	StateBuilt     = "built"
	StateUnchanged = "unchanged"
	StateWritten   = "written"
	StatePushed    = "pushed"
	StateContext   = "context" // its build context is left
	StatePlanned   = "planned" // by a dry run
)

// Event is something that happens to an image.
type Event struct {
	Image     string           `json:"image,omitempty"`
	State     string           `json:"state,omitempty"`
	Text      string           `json:"text,omitempty"`        // the line for people; empty: it only comes along
	Done      int64            `json:"done_bytes,omitempty"`  // of Total
	Total     int64            `json:"total_bytes,omitempty"` // 0: not known
	Step      int              `json:"step,omitempty"`        // of Steps
	Steps     int              `json:"steps,omitempty"`
	Base      string           `json:"base,omitempty"`
	Platforms []string         `json:"platforms,omitempty"`
	Seconds   float64          `json:"seconds,omitempty"`
	Grows     map[string]int64 `json:"grows_bytes,omitempty"` // what it is more than its base, by layer
}

// tell tells people of an event, too, in a line that begins with the image.
func (b *Builder) tell(e Event, format string, args ...any) {
	e.Text = e.Image + ": " + fmt.Sprintf(format, args...)
	b.moved(e)
}

// moved tells of an event. One with a line for people is printed, unless
// somebody takes events.
func (b *Builder) moved(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.opts.Events != nil:
		b.opts.Events(e)
	case b.opts.Progress != nil && e.Text != "":
		fmt.Fprintln(b.opts.Progress, e.Text)
	}
}

func (b *Builder) say(format string, args ...any) {
	b.moved(Event{Text: fmt.Sprintf(format, args...)})
}

// steps tells which step of a build the engine says that it begins.
func (b *Builder) steps(ref string, m message) (step int) {
	step, of, ok := stepOf(m.Stream)
	if ok {
		b.moved(Event{Image: ref, State: StateBuilding, Step: step, Steps: of})
	}
	return step
}

// stepOf reads what the engine says when it begins a step of a Dockerfile.
func stepOf(text string) (step, of int, ok bool) {
	n, _ := fmt.Sscanf(text, "Step %d/%d", &step, &of) // what does not fit is something else
	if n < 2 {
		return 0, 0, false
	}
	return step, of, true
}

// watched is a writer that tells how much was written to it, at each hundredth
// and no oftener than each megabyte.
func (b *Builder) watched(w io.Writer, e Event) io.Writer {
	return &watchedWriter{w: w, event: e, tell: b.moved, each: max(1<<20, e.Total/100)}
}

type watchedWriter struct {
	w     io.Writer
	event Event
	tell  func(Event)
	each  int64
	told  int64
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	w.event.Done += int64(n)
	if w.event.Done-w.told >= w.each {
		w.told = w.event.Done
		w.tell(w.event)
	}
	return n, err
}

// contents is how many bytes its layers' files have.
func (j *job) contents() (total int64) {
	for _, t := range j.trees {
		total += t.contents()
	}
	return total
}

// growth is what a job's layers are more than its base, and as text.
func (j *job) growth() (map[string]int64, string) {
	grows, texts := map[string]int64{}, []string{}
	for i, t := range j.trees {
		at := len(layerNames) - len(j.trees) + i
		grows[layerNames[at]] = t.contents()
		texts = append(texts, fmt.Sprintf("%s of %s", Bytes(t.contents()), layerTexts[at]))
	}
	return grows, strings.Join(texts, ", ")
}
