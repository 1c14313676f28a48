package controller

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/toskose/toskose/operator/levels"
)

// Options select the controllers to run.
type Options struct {
	Structure      levels.Structure
	Controllers    []string              // singular names
	Namespace      string                // of applications whose entry names none
	HealthAddress  string                // of /healthz and /readyz; "0": none
	MetricsAddress string                // of /metrics; "0": none
	Registry       prometheus.Registerer // of the operator's own metrics; nil: the one that /metrics serves
	Log            *slog.Logger
}

// Run runs controllers until the context is canceled.
func Run(ctx context.Context, cluster *rest.Config, opts Options) error {
	m, err := newManager(ctx, cluster, opts)
	if err != nil {
		return err
	}
	return m.Start(ctx)
}

func newManager(ctx context.Context, cluster *rest.Config, opts Options) (manager.Manager, error) {
	quick := rest.CopyConfig(cluster)
	quick.QPS = -1 // the API server has its own limits (priority and fairness)
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	again := true
	m, err := ctrl.NewManager(quick, ctrl.Options{
		Scheme: scheme, Logger: logr.FromSlogHandler(opts.Log.Handler()),
		HealthProbeBindAddress: opts.HealthAddress, Metrics: server.Options{BindAddress: opts.MetricsAddress},
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Cache:      cacheOptions(),
		Controller: config.Controller{SkipNameValidation: &again},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot use the cluster: %w", err)
	}
	for _, i := range indexesOf(opts.Structure, opts.Controllers) {
		if err := m.GetFieldIndexer().IndexField(ctx, i.object, i.field, i.keys); err != nil {
			return nil, err
		}
	}
	for _, name := range opts.Controllers {
		place, ok := opts.Structure.Find(name)
		if !ok {
			return nil, fmt.Errorf("controller %q is none of %v", name, opts.Structure.Controllers())
		}
		if err := add(m, place, opts.Namespace); err != nil {
			return nil, err
		}
	}
	synced := func(r *http.Request) error {
		if !m.GetCache().WaitForCacheSync(r.Context()) {
			return fmt.Errorf("the cache has not been filled yet")
		}
		return nil
	}
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	if err := m.AddReadyzCheck("cache", synced); err != nil {
		return nil, err
	}
	if opts.Registry == nil {
		opts.Registry = metrics.Registry
	}
	return m, opts.Registry.Register(&collector{reader: m.GetClient(), opts: opts})
}

// cacheOptions leaves out managed fields, and workloads and ConfigMaps without a component: the controllers do not read them.
func cacheOptions() cache.Options {
	ours, err := labels.Parse(levels.ComponentLabel)
	if err != nil {
		panic(err) // it is a constant
	}
	only := map[client.Object]cache.ByObject{}
	for _, gvk := range componentObjects {
		only[newObject(gvk, types.NamespacedName{})] = cache.ByObject{Label: ours}
	}
	return cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: only}
}
