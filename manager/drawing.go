package manager

import (
	"github.com/toskose/toskose/graph"
	"github.com/toskose/toskose/spec"
)

// Drawing is the topology and the protocols of its components, laid out for pages that
// draw them. It does not change.
type Drawing struct {
	Name      string                   `json:"name"`
	Version   string                   `json:"version,omitempty"`
	Topology  graph.Picture            `json:"topology"`
	Protocols map[string]graph.Diagram `json:"protocols"` // by component
	Groups    map[string][]string      `json:"groups"`    // components by the group that goals may name
}

// roomForNumbers is what a component's box has for its state and its numbers.
var roomForNumbers = graph.Room{Width: 196, Height: 36}

func newDrawing(app *spec.Application) Drawing {
	d := Drawing{
		Name: app.Name, Version: app.Version, Topology: graph.Lay(app, roomForNumbers),
		Protocols: map[string]graph.Diagram{}, Groups: map[string][]string{},
	}
	for _, c := range app.Components {
		d.Protocols[c.Name] = graph.States(c.Protocol)
	}
	for _, u := range app.Groups {
		d.Groups[u.Name] = u.Members
	}
	return d
}

// Drawing returns how the application is drawn.
func (a *App) Drawing() Drawing { return a.drawing }
