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
func (h leaseHandlers) lease(r *http.Request) (reply, error) {
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
	l, err := h.app.Lease(r.Context(), req)
	return ok(l), err
}

func (h leaseHandlers) endLease(r *http.Request) (reply, error) {
	id := param(r, "lease")
	if len(id) > longestLeaseID {
		return reply{}, invalid("the id of a lease has at most %d bytes", longestLeaseID)
	}
	return ok(map[string]string{"id": id}), h.app.EndLease(r.Context(), id)
}
