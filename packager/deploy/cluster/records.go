package cluster

import (
	"context"

	"github.com/toskose/toskose/packager/release"
)

// Releases reads the annotations of the workloads.
func (c *Cluster) Releases(ctx context.Context) (map[string]release.Log, error) {
	all, err := c.in.Objects(ctx, "get", workloadKinds, "--selector", c.info.Selector)
	if err != nil {
		return nil, err
	}
	logs := map[string]release.Log{}
	for _, o := range all {
		logs[o.Workload()] = release.Decode(o.Metadata.Annotations[release.Label])
	}
	return logs, nil
}

// Record annotates the existing workloads.
func (c *Cluster) Record(ctx context.Context, log release.Log) error {
	all, err := c.list(ctx, workloadKinds)
	if err != nil || len(all) == 0 {
		return err
	}
	return c.annotate(ctx, log)
}

// annotate adds the log to all workloads. It does not annotate their pods, since that would replace them.
func (c *Cluster) annotate(ctx context.Context, log release.Log) error {
	return c.in.Run(ctx, nil, nil, "annotate", workloadKinds, "--selector", c.info.Selector, "--overwrite", release.Label+"="+log.Encode())
}
