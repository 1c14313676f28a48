package api

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/manager/view"
)

// maxPage is the maximum number of list items in one response.
const maxPage = 1000

// page selects part of a list.
type page struct {
	limit int    // 0: all
	after string // the item before the page; empty: from the beginning
}

// pageOf reads limit and after.
func pageOf(r *http.Request, standard, most int) (page, error) {
	query := r.URL.Query()
	p := page{limit: standard, after: query.Get("after")}
	if query.Has("limit") {
		n, err := strconv.Atoi(query.Get("limit"))
		if err != nil || n < 1 || n > most {
			return p, invalid("limit is a number from 1 to %d, not %q", most, query.Get("limit"))
		}
		p.limit = n
	}
	return p, nil
}

// cut returns the part of a list that a page selects, by the items' names, and the name after which the next page
// starts; empty if this is the last.
func cut[T any](all []T, name func(T) string, p page) (part []T, next string, err error) {
	if p.after != "" {
		i := slices.IndexFunc(all, func(item T) bool { return name(item) == p.after })
		if i < 0 {
			return nil, "", invalid("after=%q is not in the list", p.after)
		}
		all = all[i+1:]
	}
	if p.limit > 0 && len(all) > p.limit {
		all = all[:p.limit]
		next = name(all[len(all)-1])
	}
	return all, next, nil
}

// paged returns part of a list, with a link to the next page (RFC 8288).
func paged(r *http.Request, body any, next string) reply {
	answer := ok(body)
	if next != "" {
		query := r.URL.Query()
		query.Set("after", next)
		to := url.URL{Path: strings.TrimSuffix(r.URL.Path, "/"), RawQuery: query.Encode()}
		answer.header = map[string]string{"Link": "<" + to.String() + `>; rel="next"`}
	}
	return answer
}

// filterOf reads node, type, state and label.
func filterOf(r *http.Request) (view.Filter, error) {
	query := r.URL.Query()
	f := view.Filter{Node: query.Get("node"), Type: query.Get("type"), State: query.Get("state"), Labels: map[string]string{}}
	for _, label := range query["label"] {
		name, value, found := strings.Cut(label, "=")
		if !found || name == "" {
			return f, invalid("label is NAME=VALUE, not %q", label)
		}
		f.Labels[name] = value
	}
	return f, nil
}

// waitOf reads how many seconds to wait.
func waitOf(r *http.Request) (time.Duration, error) {
	value := r.URL.Query().Get("wait")
	if value == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || !(seconds >= 0 && seconds <= maxWait.Seconds()) {
		return 0, invalid("wait is a number of seconds from 0 to %d, not %q", int(maxWait.Seconds()), value)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
