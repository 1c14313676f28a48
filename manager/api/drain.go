package api

import (
	"math"
	"net/http"
	"time"
)

// drainBody is the body of a request to drain a node; it may be missing.
type drainBody struct {
	Seconds *float64 `json:"seconds"` // until it expires
}

const (
	standardDrain = 30   // seconds
	longestDrain  = 3600 // seconds
)

func (s *server) drain(r *http.Request) (reply, error) {
	var body drainBody
	if err := decode(r, &body, `{"seconds": 30}`); err != nil {
		return reply{}, err
	}
	seconds := float64(standardDrain)
	if body.Seconds != nil {
		seconds = *body.Seconds
	}
	if math.IsNaN(seconds) || seconds < 1 || seconds > longestDrain {
		return reply{}, invalid("seconds is a number from 1 to %d, not %v", longestDrain, seconds)
	}
	now, err := s.app.Drain(r.Context(), param(r, "node"), time.Duration(seconds*float64(time.Second)))
	return ok(now), err
}

func (s *server) endDrain(r *http.Request) (reply, error) {
	node := param(r, "node")
	return ok(map[string]string{"node": node}), s.app.EndDrain(node)
}
