package api

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/toskose/toskose/manager/rest"
)

const longestSeries = 3600 // seconds

// getSeries returns the numbers of the application over time, and those of the named components.
func (h stateHandlers) getSeries(r *http.Request) (reply, error) {
	seconds := longestSeries
	if text := r.URL.Query().Get("since"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > longestSeries {
			return reply{}, &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf("since is a number of seconds from 1 to %d, not %q", longestSeries, text)}
		}
		seconds = n
	}
	named := r.URL.Query()["component"]
	from := time.Now().Add(-time.Duration(seconds) * time.Second)
	return ok(h.app.Series(from, func(component string) bool { return slices.Contains(named, component) })), nil
}
