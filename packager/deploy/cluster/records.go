package cluster

import (
	"context"

	"github.com/toskose/toskose/packager/release"
)

// Releases reads the annotations of the workloads, and of the Application if the operator makes them.
func (c *Cluster) Releases(ctx context.Context) (map[string]release.Log, error) {
	all, err := c.in.Objects(ctx, "get", workloadKinds, "--selector", c.info.Selector)
	if err != nil {
		return nil, err
	}
	logs := map[string]release.Log{}
	for _, o := range all {
		if o.IsControlled() {
			continue
		}
		logs[o.Workload()] = release.Decode(o.Metadata.Annotations[release.Label])
	}
	return logs, c.addApplications(ctx, logs)
}

// Record annotates the existing workloads, or the Application if the operator makes them. It does not annotate pods, since that
// would replace them.
func (c *Cluster) Record(ctx context.Context, log release.Log) error {
	all, err := c.recorded(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	return c.in.Run(ctx, nil, nil, append(append([]string{"annotate"}, all...), "--overwrite", release.Label+"="+log.Encode())...)
}
