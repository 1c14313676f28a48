package api

import (
	"math"
	"net/http"
	"time"

	"github.com/toskose/toskose/manager"
)

// leaseBody is the body of a request that acquires or renews a lease.
type leaseBody struct {
	Components []string `json:"components"` // none: all
	Seconds    *float64 `json:"seconds"`    // until it expires without a renewal
}

const (
	standardLease  = 30   // seconds
	longestLease   = 3600 // seconds
	longestLeaseID = 64
)

// lease acquires or renews a lease.
func (s *server) lease(r *http.Request) (reply, error) {
	var body leaseBody
	if err := decode(r, &body, `{"components": ["api"], "seconds": 30}`); err != nil {
		return reply{}, err
	}
	seconds := float64(standardLease)
	if body.Seconds != nil {
		seconds = *body.Seconds
	}
	id := param(r, "lease")
	switch {
	case math.IsNaN(seconds) || seconds < 1 || seconds > longestLease:
		return reply{}, invalid("seconds is a number from 1 to %d, not %v", longestLease, seconds)
	case len(id) > longestLeaseID:
		return reply{}, invalid("the id of a lease has at most %d bytes", longestLeaseID)
	}
	l, err := s.app.Lease(r.Context(), manager.LeaseRequest{
		ID: id, Components: body.Components, Time: time.Duration(seconds * float64(time.Second)), By: callerOf(r).Name,
	})
	return ok(l), err
}

func (s *server) endLease(r *http.Request) (reply, error) {
	id := param(r, "lease")
	return ok(map[string]string{"id": id}), s.app.EndLease(r.Context(), id)
}
