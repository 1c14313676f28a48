package controller

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/toskose/toskose/operator/levels"
)

var resources = prometheus.NewDesc("toskose_level_resources", "Resources of each kind by their state.", []string{"kind", "ready"}, nil)

// collector counts the resources of the controllers' kinds when metrics are read.
type collector struct {
	reader client.Reader
	opts   Options
}

// Describe sends the description of the metric.
func (c *collector) Describe(out chan<- *prometheus.Desc) { out <- resources }

// Collect sends the number of resources of each kind and state. A kind that cannot be listed has none.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	for _, name := range c.opts.Controllers {
		place, _ := c.opts.Structure.Find(name)
		counts := map[string]int{levels.Running: 0, levels.Deploying: 0}
		field := "situation"
		if place.Own != levels.Component {
			field, counts[levels.Stored] = "ready", 0
		}
		list := newList(gvkOf(place.Own))
		if err := c.reader.List(context.Background(), list); err != nil {
			out <- prometheus.NewInvalidMetric(resources, err)
			continue
		}
		for i := range list.Items {
			state := textOf(&list.Items[i], "status", field)
			if state == "" {
				state = levels.Deploying
			}
			counts[state]++
		}
		for _, state := range sortedKeys(counts) {
			out <- prometheus.MustNewConstMetric(resources, prometheus.GaugeValue, float64(counts[state]), place.Own.Kind, state)
		}
	}
}
