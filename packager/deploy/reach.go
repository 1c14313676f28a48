package deploy

import (
	"context"
	"fmt"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
)

// NamespaceOf returns the namespace that a folder is deployed to; empty: it is deployed to an
// engine.
func NamespaceOf(dir, target string) (string, error) {
	kind, err := choose(dir, target)
	if err != nil || kind != Kubernetes {
		return "", err
	}
	info, err := kubernetes.ReadInfo(dir)
	return info.Namespace, err
}

// Reach finds where the manager of a folder's application is now. On a cluster, a port is
// forwarded to it until done is called.
func Reach(ctx context.Context, engine *client.Client, opts Options) (at Access, done func(), err error) {
	d, err := open(ctx, engine, opts)
	if err != nil {
		return Access{}, nil, err
	}
	done = func() {
		if d.where.close != nil {
			d.where.close()
		}
	}
	host, err := d.where.host(ctx)
	if err != nil {
		done()
		return Access{}, nil, fmt.Errorf("cannot find the manager of %q: %w", d.info.App, err)
	}
	password, err := output.ManagerPassword(d.opts.Dir)
	return d.access(scheme(d.info)+host, password), done, err
}
