package api

import "net/http"

func (s *server) healthz(*http.Request) (reply, error) {
	return ok(map[string]string{"status": "ok"}), nil
}

func (s *server) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	document, err := s.openapi()
	if err != nil {
		s.problem(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document)
}

// readyz needs no password, so it names the nodes that are not ready without the reasons. When asked about the
// goal, it reveals nothing else.
func (s *server) readyz(r *http.Request) (reply, error) {
	goal, err := flag(r, "goal")
	if err != nil {
		return reply{}, err
	}
	if goal {
		if g := s.app.Goal(); !g.Acting || !g.Done || g.Wanted == 0 {
			return reply{}, errNotAsWanted
		}
		return ok(map[string]any{"status": "ready"}), nil
	}
	missing, units := s.app.Ready()
	if len(missing) == 0 {
		return ok(map[string]any{"status": "ready", "units": units}), nil
	}
	silent := make(notReadyError, 0, len(missing))
	for _, m := range missing {
		silent = append(silent, m.Node)
	}
	return reply{}, silent
}
