package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// Rollback deploys the previous release. It first prints the changes.
func Rollback(ctx context.Context, engine *client.Client, opts Options) (Result, error) {
	if err := output.UnfinishedRotation(opts.Dir); err != nil {
		return Result{}, fmt.Errorf("cannot roll back: %w", err)
	}
	opts.kind = release.Rollback
	d, err := open(ctx, engine, opts)
	if err != nil {
		return Result{}, err
	}
	defer d.location.Close()
	ctx, unlock, err := d.lock(ctx, false, d.sayLine)
	if err != nil {
		return Result{}, fmt.Errorf("cannot roll %q back: %w", d.Info.App, err)
	}
	defer unlock()
	all, err := d.deployed(ctx)
	if err != nil {
		return Result{}, err
	}
	d.reopenRollback(all.Log)
	now, _ := all.Log.Current()
	to, ok := all.Log.Before()
	switch {
	case now.Release == "":
		return Result{}, fmt.Errorf("cannot roll %q back: no release is recorded", all.App)
	case !ok && now.Before == "":
		return Result{}, fmt.Errorf("cannot roll %q back: release %s is the first one", all.App, now.Release)
	case !ok:
		return Result{}, fmt.Errorf("cannot roll %q back: the folder of release %s is no longer recorded; deploy it", all.App, now.Before)
	}
	dir, err := release.Return(to)
	if err != nil {
		return Result{}, fmt.Errorf("cannot roll %q back: %w", all.App, err)
	}
	if now.Pending && now.Kind == release.Rollback {
		fmt.Fprintf(opts.Progress, "%s: resuming the rollback of %s, which was interrupted\n", all.App, now.At.UTC().Format(time.RFC3339))
		now, _ = all.Log.Completed()
	}
	fmt.Fprintf(opts.Progress, "%s: back from release %s to %s, of %s\n", all.App, now.Release, to.Release, to.At.UTC().Format(time.RFC3339))
	if goal := release.Goal(to); goal != nil && opts.Goal != nil {
		opts.Goal.Load(goal)
	}
	opts.Dir, opts.held = dir, d.held
	return Up(ctx, engine, opts)
}

// reopenRollback marks the newest record as pending if the command that completed it was killed before it reported that. A
// user that repeats the command then continues the same rollback.
func (d *deployer) reopenRollback(log release.Log) {
	if d.held == nil || len(log) == 0 {
		return
	}
	last, by := &log[len(log)-1], d.held.Interrupted()
	if by != nil && by.Intent == release.Rollback && last.Kind == release.Rollback && last.By == by.Owner && !last.At.Before(by.Since) {
		last.Pending = true
	}
}

// rollbackHint names the release that a rollback would return to. It returns "" if none exists.
func (d *deployer) rollbackHint() string {
	to, ok := d.next.Before()
	if !ok {
		return ""
	}
	return fmt.Sprintf("\n`toskose deploy --rollback %s` goes back to release %s", d.Dir, to.Release)
}

// goBack deploys the previous release again after a failure.
func (d *deployer) goBack(ctx context.Context, failed error) error {
	to, ok := d.Log.Completed()
	switch {
	case !ok:
		return fmt.Errorf("%w\nwhat was started stays: the previous release is not recorded", failed)
	case to.Release == d.release:
		return failed
	}
	if d.halt != nil {
		if err := d.halt(ctx); err != nil {
			return errors.Join(failed, err)
		}
	}
	d.Say("%s: back to release %s, of %s (--keep leaves what was started)", d.Info.App, to.Release, to.At.UTC().Format(time.RFC3339))
	if err := d.redeploy(ctx, to); err != nil {
		return fmt.Errorf("%w\nand release %s, which ran before, cannot be deployed again: %w", failed, to.Release, err)
	}
	return fmt.Errorf("%w\nrelease %s, which ran before, runs again", failed, to.Release)
}

// restoreTimeout is the minimum timeout for the previous release to answer again: a container that hangs is killed only after its
// grace period.
const restoreTimeout = 2 * time.Minute

// redeploy deploys the release of a record again.
func (d *deployer) redeploy(ctx context.Context, r release.Record) error {
	dir, err := release.Return(r)
	if err != nil {
		return err
	}
	opts := d.opts
	opts.Dir, opts.Timeout = dir, max(opts.Timeout, restoreTimeout)
	back, err := open(ctx, d.engine, opts)
	if err != nil {
		return err
	}
	defer back.location.Close()
	back.restoring, back.Log, back.next = true, d.Log.Abandon(), d.Log.Abandon()
	return back.run(ctx, restoreSteps)
}
