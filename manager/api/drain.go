package api

import (
	"net/http"
	"time"

	"github.com/toskose/toskose/manager/rest"
)

const (
	defaultDrain = 30   // seconds
	longestDrain = 3600 // seconds
)

func (h controlHandlers) drain(r *http.Request) (reply, error) {
	req := rest.DrainRequest{Seconds: defaultDrain}
	if err := decode(r, &req, `{"seconds": 30}`); err != nil {
		return reply{}, err
	}
	if req.Seconds < 1 || req.Seconds > longestDrain {
		return reply{}, invalid("seconds is a number from 1 to %d, not %v", longestDrain, req.Seconds)
	}
	now, err := h.app.Drain(r.Context(), param(r, "node"), time.Duration(req.Seconds*float64(time.Second)))
	return ok(now), err
}

func (h controlHandlers) endDrain(r *http.Request) (reply, error) {
	node := param(r, "node")
	return ok(map[string]string{"node": node}), h.app.EndDrain(node)
}
