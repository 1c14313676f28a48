package api

import (
	"net/http"

	"github.com/toskose/toskose/manager/rest"
)

const (
	defaultLease   = 30   // seconds
	longestLease   = 3600 // seconds
	longestLeaseID = 64
)

// lease acquires or renews a lease.
func (s *server) lease(r *http.Request) (reply, error) {
	req := rest.LeaseRequest{Seconds: defaultLease}
	if err := decode(r, &req, `{"components": ["api"], "seconds": 30}`); err != nil {
		return reply{}, err
	}
	req.ID, req.By = param(r, "lease"), callerOf(r).Name
	switch {
	case req.Seconds < 1 || req.Seconds > longestLease:
		return reply{}, invalid("seconds is a number from 1 to %d, not %v", longestLease, req.Seconds)
	case len(req.ID) > longestLeaseID:
		return reply{}, invalid("the id of a lease has at most %d bytes", longestLeaseID)
	}
	l, err := s.app.Lease(r.Context(), req)
	return ok(l), err
}

func (s *server) endLease(r *http.Request) (reply, error) {
	id := param(r, "lease")
	return ok(map[string]string{"id": id}), s.app.EndLease(r.Context(), id)
}
