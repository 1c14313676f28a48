package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// Deployed is what was deployed of an application.
type Deployed struct {
	App string
	Log release.Log
	// Others are the releases of services that are not at the newest: an orchestrator has
	// taken their updates back.
	Others map[string]string
}

// Releases returns what was deployed of the application of a folder.
func Releases(ctx context.Context, engine *client.Client, opts Options) (Deployed, error) {
	d, err := open(ctx, engine, opts)
	if err != nil {
		return Deployed{}, err
	}
	if d.where.close != nil {
		defer d.where.close()
	}
	return d.deployed(ctx)
}

func (d *deployer) deployed(ctx context.Context) (Deployed, error) {
	logs, err := d.where.releases(ctx)
	if err != nil {
		return Deployed{}, fmt.Errorf("cannot find what was deployed of %q: %w", d.info.App, err)
	}
	all := Deployed{App: d.info.App, Log: release.Newest(slices.Collect(maps.Values(logs))...), Others: map[string]string{}}
	newest, _ := all.Log.Current()
	for service, log := range logs {
		if r, ok := log.Current(); ok && r.Release != newest.Release {
			all.Others[service] = r.Release
		}
	}
	return all, nil
}

// remember finds what was deployed before, and keeps a copy of what is deployed now.
func (d *deployer) remember(ctx context.Context) error {
	before, err := d.deployed(ctx)
	if err != nil {
		return err
	}
	d.log = before.Log
	if d.release, err = release.ID(d.opts.Dir); err != nil {
		return err
	}
	return release.Keep(d.opts.Dir, d.release)
}

// keepGoal keeps the goal with the release that ran, for a rollback.
func (d *deployer) keepGoal() error {
	now, ok := d.log.Current()
	if !ok || now.Release == d.release || d.opts.Kept == nil {
		return nil
	}
	return release.KeepGoal(now, d.opts.Kept())
}

// sayChanges says what this deployment replaces, where the files are there of what runs.
func (d *deployer) sayChanges() {
	now, ok := d.log.Current()
	if !ok || now.Release == d.release {
		return
	}
	dir, err := release.Find(now)
	if err != nil {
		return
	}
	from, err := release.Read(dir, release.Target(d.kind))
	if err != nil {
		return
	}
	to, err := release.Read(d.opts.Dir, release.Target(d.kind))
	if err != nil {
		return
	}
	diff := release.Compare(from, to)
	if names := diff.Replaced(); len(names) > 0 {
		d.say("%s: release %s takes the place of %s; containers that are replaced, and start empty: %s", d.info.App, d.release, now.Release, strings.Join(names, ", "))
	}
	if names := diff.Again(); len(names) > 0 {
		d.say("%s: components to be created, on volumes as they are now: %s", d.info.App, strings.Join(names, ", "))
	}
}

// record is of this deployment.
func (d *deployer) record() release.Record {
	return release.Record{Release: d.release, At: time.Now().UTC().Truncate(time.Second), By: d.opts.By, Folder: d.opts.Dir, Kind: d.opts.kind}
}

// Rollback deploys the release before the one that is deployed. It says first what that
// means.
func Rollback(ctx context.Context, engine *client.Client, opts Options) (Result, error) {
	if err := output.Replacing(opts.Dir); err != nil {
		return Result{}, fmt.Errorf("cannot roll back: %w", err)
	}
	all, err := Releases(ctx, engine, opts)
	if err != nil {
		return Result{}, err
	}
	now, _ := all.Log.Current()
	to, ok := all.Log.Before()
	switch {
	case now.Release == "":
		return Result{}, fmt.Errorf("cannot roll %q back: nothing says what was deployed", all.App)
	case now.Before == "":
		return Result{}, fmt.Errorf("cannot roll %q back: release %s is the first that was deployed", all.App, now.Release)
	case !ok:
		return Result{}, fmt.Errorf("cannot roll %q back: nothing says any more where release %s was deployed from; deploy its folder", all.App, now.Before)
	}
	dir, err := release.Return(to)
	if err != nil {
		return Result{}, fmt.Errorf("cannot roll %q back: %w", all.App, err)
	}
	fmt.Fprintf(opts.Progress, "%s: back from release %s to %s, of %s\n", all.App, now.Release, to.Release, to.At.UTC().Format(time.RFC3339))
	if goal := release.Goal(to); goal != nil && opts.Return != nil {
		opts.Return(goal)
	}
	opts.Dir, opts.kind = dir, release.Rollback
	return Up(ctx, engine, opts)
}

// wayBack says how the release before can be had again, if there is one.
func (d *deployer) wayBack() string {
	now, ok := d.log.Current()
	if !ok || now.Release == d.release {
		return ""
	}
	return fmt.Sprintf("\n`toskose deploy --rollback %s` goes back to release %s", d.opts.Dir, now.Release)
}

// goBack deploys the release that ran before again, and says so.
func (d *deployer) goBack(ctx context.Context, failed error) error {
	to, ok := d.log.Current()
	switch {
	case !ok:
		return fmt.Errorf("%w\nwhat came up stays: nothing says which release ran before", failed)
	case to.Release == d.release:
		return failed
	}
	if d.where.halted != nil {
		ctx, cancel := context.WithTimeout(ctx, d.opts.Timeout)
		defer cancel()
		if err := d.where.halted(ctx); err != nil {
			return errors.Join(failed, err)
		}
	}
	d.say("%s: back to release %s, of %s (--keep leaves what was started)", d.info.App, to.Release, to.At.UTC().Format(time.RFC3339))
	if err := d.again(ctx, to); err != nil {
		return fmt.Errorf("%w\nand release %s, which ran before, cannot be deployed again: %w", failed, to.Release, err)
	}
	return fmt.Errorf("%w\nrelease %s, which ran before, runs again", failed, to.Release)
}

// again deploys what was deployed last before this call.
func (d *deployer) again(ctx context.Context, r release.Record) error {
	dir, err := release.Return(r)
	if err != nil {
		return err
	}
	opts := d.opts
	opts.Dir = dir
	back, err := open(ctx, d.engine, opts)
	if err != nil {
		return err
	}
	if back.where.close != nil {
		defer back.where.close()
	}
	if _, err := back.where.before(ctx); err != nil {
		return err
	}
	back.replaces = true
	password, err := back.password()
	if err != nil {
		return err
	}
	if _, err := back.bring(ctx, d.log, password); err != nil {
		return fmt.Errorf("%w%s", err, back.reasons(ctx))
	}
	return back.finish(ctx, d.log, opts.Back, password)
}
