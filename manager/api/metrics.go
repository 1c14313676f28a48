package api

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/toskose/toskose/unit/wire"
)

// metrics are the counters of /metrics.
type metrics struct {
	mu         sync.Mutex
	requests   map[requestKey]int
	operations map[wire.Outcome]int
}

type requestKey struct {
	method, route string
	status        int
}

func newMetrics() *metrics {
	return &metrics{requests: map[requestKey]int{}, operations: map[wire.Outcome]int{}}
}

// request counts a request. All unknown paths and methods share one counter, or a
// client could make their number grow without bound.
func (m *metrics) request(method, route string, status int) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
	default:
		method = "other"
	}
	if route == "" || status == http.StatusNotFound && strings.HasSuffix(route, "*") {
		route = "unmatched"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[requestKey{method, route, status}]++
}

// operation counts an execution that a request waited for.
func (m *metrics) operation(outcome wire.Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.operations[outcome]++
}

// serveMetrics answers in the text format of OpenMetrics 1.0.
func (s *server) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	_, units := s.app.Ready()
	var text strings.Builder
	text.WriteString("# TYPE toskose_manager_units gauge\n# HELP toskose_manager_units Units that answer.\n")
	fmt.Fprintf(&text, "toskose_manager_units %d\n", units)
	s.metrics.write(&text)
	text.WriteString("# EOF\n")
	w.Header().Set("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
	_, _ = w.Write([]byte(text.String()))
}

func (m *metrics) write(text *strings.Builder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text.WriteString("# TYPE toskose_manager_requests counter\n# HELP toskose_manager_requests Requests answered.\n")
	for _, k := range slices.SortedFunc(maps.Keys(m.requests), compareKeys) {
		fmt.Fprintf(text, "toskose_manager_requests_total{method=%q,route=%q,code=%q} %d\n",
			k.method, k.route, strconv.Itoa(k.status), m.requests[k])
	}
	text.WriteString("# TYPE toskose_manager_operations counter\n# HELP toskose_manager_operations Operations that a request waited for, by outcome.\n")
	for _, outcome := range slices.Sorted(maps.Keys(m.operations)) {
		fmt.Fprintf(text, "toskose_manager_operations_total{outcome=%q} %d\n", outcome, m.operations[outcome])
	}
}

func compareKeys(a, b requestKey) int {
	return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.method, b.method), cmp.Compare(a.status, b.status))
}
