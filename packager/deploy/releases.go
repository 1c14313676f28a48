package deploy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/release"
)

// Deployed lists the releases of an application.
type Deployed struct {
	App string
	Log release.Log
	// Others maps each service that does not run the newest release to its release: the orchestrator has rolled back its
	// update.
	Others map[string]string
}

// Releases returns the deployed releases of a folder's application.
func Releases(ctx context.Context, engine *client.Client, opts Options) (Deployed, error) {
	d, err := open(ctx, engine, opts)
	if err != nil {
		return Deployed{}, err
	}
	defer d.location.Close()
	return d.deployed(ctx)
}

func (d *deployer) deployed(ctx context.Context) (Deployed, error) {
	logs, err := d.observer.Releases(ctx)
	if err != nil {
		return Deployed{}, fmt.Errorf("cannot find the releases of %q: %w", d.Info.App, err)
	}
	all := Deployed{App: d.Info.App, Log: release.Newest(slices.Collect(maps.Values(logs))...), Others: map[string]string{}}
	newest, _ := all.Log.Current()
	for service, log := range logs {
		if r, ok := log.Current(); ok && r.Release != newest.Release {
			all.Others[service] = r.Release
		}
	}
	return all, nil
}

// storeRelease reads the log of earlier deployments, stores a copy of the folder's release, and adds this deployment to the log.
func (d *deployer) storeRelease(ctx context.Context) error {
	before, err := d.deployed(ctx)
	if err != nil {
		return err
	}
	d.Log = before.Log
	if d.release, err = release.ID(d.Dir); err != nil {
		return err
	}
	d.next = d.Log.Begin(release.Record{Release: d.release, At: time.Now().UTC().Truncate(time.Second), By: d.opts.By, Folder: d.Dir, Kind: d.opts.kind})
	return release.Keep(d.Dir, d.release)
}

// reportChanges prints how this deployment differs from the running release, or why the difference is unknown.
func (d *deployer) reportChanges(context.Context) error {
	d.reportDifferences()
	d.Say("%s: deploying %s", d.Info.App, d.location.Name())
	return nil
}

func (d *deployer) reportDifferences() {
	now, ok := d.Log.Completed()
	if !ok || now.Release == d.release {
		return
	}
	dir, err := release.Find(now)
	if err != nil {
		d.Say("%s: release %s replaces %s; the changes are unknown: %v", d.Info.App, d.release, now.Release, err)
		return
	}
	from, err := release.Read(dir, release.Target(d.kind))
	if err != nil {
		return
	}
	to, err := release.Read(d.Dir, release.Target(d.kind))
	if err != nil {
		return
	}
	diff := release.Compare(from, to)
	if names := diff.Replaced(); len(names) > 0 {
		d.Say("%s: release %s replaces %s; containers that are replaced, and start empty: %s", d.Info.App, d.release, now.Release, strings.Join(names, ", "))
	}
	if names := diff.Moved(); len(names) > 0 {
		d.Say("%s: also replaced if their machines no longer satisfy the placement: %s", d.Info.App, strings.Join(names, ", "))
	}
	if names := diff.Recreated(); len(names) > 0 {
		d.Say("%s: components to be created, on the current volumes: %s", d.Info.App, strings.Join(names, ", "))
	}
}
