package api

import (
	"net/http"

	"github.com/toskose/toskose/manager"
)

// restoreGoal takes a goal that getGoal has shown before.
func (s *server) restoreGoal(r *http.Request) (reply, error) {
	var body manager.KeptGoal
	if err := decode(r, &body, `{"revision": "3:a", "state": "up"}`); err != nil {
		return reply{}, err
	}
	view, kept, err := s.app.RestoreGoal(r.Context(), body)
	return spread(view, kept), err
}
