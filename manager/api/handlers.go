package api

import "net/http"

func (s *server) healthz(*http.Request) (reply, error) {
	return ok(map[string]string{"status": "ok"}), nil
}

// readyz takes no password, so it names the nodes that are not ready, but not why;
// asked for the goal, it says nothing else.
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

// replicaOf returns the address or instance of the replica that a request is for.
func replicaOf(r *http.Request) string { return r.URL.Query().Get("replica") }

// flag reads a query parameter that is true or false.
func flag(r *http.Request, name string) (bool, error) { return flagOr(r, name, false) }

// flagOr is flag for a parameter that is something unless given.
func flagOr(r *http.Request, name string, otherwise bool) (bool, error) {
	switch value := r.URL.Query().Get(name); value {
	case "":
		return otherwise, nil
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	default:
		return false, invalid("%s is true or false, not %q", name, value)
	}
}
