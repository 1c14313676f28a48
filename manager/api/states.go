package api

import (
	"net/http"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
)

func (h stateHandlers) getApp(r *http.Request, d manager.Detail) (reply, error) {
	app := h.app.App(r.Context(), d)
	if d == manager.WithProcesses {
		return ok(app), nil
	}
	return ok(h.encoder.Encode(app)), nil
}

func (h stateHandlers) getNodes(r *http.Request, d manager.Detail) (reply, error) {
	filter, err := filterOf(r)
	if err != nil {
		return reply{}, err
	}
	wanted, err := pageOf(r, 0, maxPage)
	if err != nil {
		return reply{}, err
	}
	nodes, next, err := cut(filter.Nodes(h.app.Nodes(r.Context(), d)), func(n rest.Node) string { return n.Name }, wanted)
	return paged(r, nodes, next), err
}

func (h stateHandlers) getComponents(r *http.Request, d manager.Detail) (reply, error) {
	filter, err := filterOf(r)
	if err != nil {
		return reply{}, err
	}
	wanted, err := pageOf(r, 0, maxPage)
	if err != nil {
		return reply{}, err
	}
	components, next, err := cut(filter.Components(h.app.Nodes(r.Context(), d)), func(c rest.Component) string { return c.Name }, wanted)
	return paged(r, components, next), err
}

func (h stateHandlers) getNode(r *http.Request, d manager.Detail) (reply, error) {
	n, err := h.app.Node(r.Context(), param(r, "node"), d)
	return ok(n), err
}

func (h stateHandlers) getComponent(r *http.Request, d manager.Detail) (reply, error) {
	c, err := h.app.Component(r.Context(), param(r, "node"), param(r, "component"), d)
	return ok(c), err
}

func (h stateHandlers) getOperation(r *http.Request, d manager.Detail) (reply, error) {
	op, err := h.app.Operation(r.Context(), param(r, "node"), param(r, "component"), param(r, "operation"), d)
	return ok(op), err
}

// view returns states, with processes if requested.
func (s *server) view(show func(*http.Request, manager.Detail) (reply, error)) http.HandlerFunc {
	return s.handle(func(r *http.Request) (reply, error) {
		wanted, err := flag(r, "processes")
		if err != nil {
			return reply{}, err
		}
		return show(r, manager.Detail(wanted))
	})
}

// getDrawing returns the static data for drawing the topology.
func (h stateHandlers) getDrawing(*http.Request) (reply, error) { return ok(h.app.Drawing()), nil }
