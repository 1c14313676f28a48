package image_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/image/event"
)

// states are the states that an image goes through.
func states(events []event.Event, name string) (all []string) {
	for _, e := range events {
		if e.Image == name {
			all = append(all, e.State)
		}
	}
	return slices.Compact(all)
}

func TestEventsTellHowFarEachImageIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	text, size := large()
	archive := fstest.MapFS{"a b.sh": {Data: []byte(text)}}
	plan := w.plan()
	for output, want := range map[image.Place][]string{
		image.Registry: {event.Packing, event.Pinned, event.Pushing, event.Pushed, event.Built},
		image.Layout(filepath.Join(t.TempDir(), "to")): {event.Packing, event.Pinned, event.Writing, event.Written, event.Built},
	} {
		var events []event.Event
		err := w.buildPlan(plan, archive, func(o *image.Options) {
			o.Output, o.Events = output, func(e event.Event) { events = append(events, e) }
		})
		if err != nil {
			t.Fatal(err)
		}
		name := plan.Images[0].Name
		if got := states(events, name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", output, got, want)
		}
		var most int64
		for _, e := range events {
			if e.Image != name {
				continue
			}
			if e.Done > 0 {
				most = max(most, e.Done)
				if e.Done > e.Total {
					t.Errorf("%s: %d bytes of %d", output, e.Done, e.Total)
				}
			}
			if e.State == event.Built && (e.Grows["application"] < size || e.Grows["toskose"] == 0 || e.Base != plan.Images[0].Base) {
				t.Errorf("%s: built: %+v", output, e)
			}
		}
		if most < size/2 {
			t.Errorf("%s: at most %d bytes of %d are told of", output, most, size)
		}
	}
	if w.said.Len() > 0 {
		t.Errorf("who takes events gets lines, too: %s", &w.said)
	}
}

func TestEventsTellTheStepsOfTheEngine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	plan, archive := b.given()
	var events []event.Event
	if err := b.build(plan, archive, func(o *image.Options) { o.Events = func(e event.Event) { events = append(events, e) } }); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{plan.Images[0].Base, plan.Images[1].Name} {
		last := 0
		for _, e := range events {
			if e.Image == name && e.State == event.Building {
				if last++; e.Step != last || e.Steps < last {
					t.Errorf("%s: step %d of %d comes after %d", name, e.Step, e.Steps, last-1)
				}
			}
		}
		if got := states(events, name); last == 0 || !slices.Contains(got, event.Built) {
			t.Errorf("%s: %q with %d steps", name, got, last)
		}
	}
}

func TestADryRunIsEventsToo(t *testing.T) {
	t.Parallel()
	var events []event.Event
	plan := &packager.Plan{App: "app", Images: []packager.Image{{Name: "app:1", Base: "base:1"}}}
	b, err := image.New(nil, image.Options{Push: true, Events: func(e event.Event) { events = append(events, e) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.DryRun(plan, fstest.MapFS{}); err != nil {
		t.Fatal(err)
	}
	if len(events) != 3 || events[1].State != event.Planned || !strings.HasPrefix(events[1].Text, "would push app:1") {
		t.Errorf("%+v", events)
	}
}
