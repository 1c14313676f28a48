// Package metrics exports the manager's metrics to Prometheus: the state of the application, its executions, and
// the use of the API.
package metrics

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/unit/wire"
)

// Metrics holds the counters. Its methods are safe for concurrent use.
type Metrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.CounterVec
	answering  *prometheus.HistogramVec
	followers  prometheus.Gauge
	executions *prometheus.CounterVec
	executing  *prometheus.HistogramVec
	missed     prometheus.Counter
}

// New returns the metrics of an application and its manager's version.
func New(app Application, version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toskose_manager_requests_total", Help: "Requests by method, route and status code.",
		}, []string{"method", "route", "code"}),
		answering: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "toskose_manager_request_duration_seconds", Help: "Durations of requests, without those that follow events or logs.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"method", "route"}),
		followers: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "toskose_manager_followers", Help: "Clients that follow events or logs.",
		}),
		executions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toskose_executions_total", Help: "Executions that ended while the manager ran, of all users.",
		}, []string{"node", "component", "operation", "outcome"}),
		executing: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "toskose_execution_duration_seconds", Help: "Durations of executions that ended while the manager ran.",
			Buckets: []float64{.01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600},
		}, []string{"node", "component", "operation"}),
		missed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toskose_manager_events_missed_total", Help: "Times that events arrived faster than they were counted, so that some executions are not counted.",
		}),
	}
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "toskose_manager_build_info", Help: "1, with the version of the manager.", ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })
	m.registry.MustRegister(
		m.requests, m.answering, m.followers, m.executions, m.executing, m.missed, build, standing{app},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Handler responds in Prometheus' text format, or in OpenMetrics if the client prefers it.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 4})
}

// Request counts a request. All unknown paths and methods share one label; otherwise clients could create labels
// without bound.
//
// The duration of a response that follows events or logs is not recorded: it is meaningless.
func (m *Metrics) Request(method, route string, status int, took time.Duration, follows bool) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
	default:
		method = "other"
	}
	if route == "" || status == http.StatusNotFound && strings.HasSuffix(route, "*") {
		route = "unmatched"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	if !follows {
		m.answering.WithLabelValues(method, route).Observe(took.Seconds())
	}
}

// Follow counts a client that follows events or logs, until end is called.
func (m *Metrics) Follow() (end func()) {
	m.followers.Inc()
	return m.followers.Dec
}

// Events returns events; *manager.App implements it.
type Events interface {
	Events(after string) func(context.Context) ([]manager.Event, error)
}

// Run counts executions until ctx or the stream of events ends.
func (m *Metrics) Run(ctx context.Context, app Events) {
	next := app.Events("")
	for {
		events, err := next(ctx)
		switch {
		case errors.Is(err, mirror.ErrBehind):
			m.missed.Inc()
			next = app.Events("")
			continue
		case err != nil:
			return
		}
		for _, e := range events {
			m.count(e)
		}
	}
}

func (m *Metrics) count(e manager.Event) {
	x := e.Execution
	if x == nil || e.Kind != string(wire.EntryExit) {
		return
	}
	operation := x.Interface + "." + x.Operation
	m.executions.WithLabelValues(e.Node, x.Component, operation, string(x.Outcome)).Inc()
	m.executing.WithLabelValues(e.Node, x.Component, operation).Observe(x.Ended.Sub(x.Started).Seconds())
}
