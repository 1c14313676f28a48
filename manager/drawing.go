package manager

import (
	"github.com/toskose/toskose/graph"
	"github.com/toskose/toskose/spec"
)

// Drawing is the layout of the topology and of the components' protocols, for pages that draw them. It is static.
type Drawing struct {
	Name      string                   `json:"name"`
	Version   string                   `json:"version,omitempty"`
	Topology  graph.Picture            `json:"topology"`
	Protocols map[string]graph.Diagram `json:"protocols"` // by component
	Groups    map[string][]string      `json:"groups"`    // components by group name
}

// roomForNumbers is the space in a component's box for its state and counters.
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

// Drawing returns the layout of the application.
func (a *App) Drawing() Drawing { return a.drawing }
