package deploy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// waitForOperator waits until Toskose's operator has carried out the applied manifests, if it makes the workloads.
func (d *deployer) waitForOperator(ctx context.Context) (err error) {
	if d.awaitOperator == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.opts.Timeout, fmt.Errorf("the operator is not done after %s", d.opts.Timeout))
	defer cancel()
	d.stored, err = d.awaitOperator(ctx)
	return err
}

// waitForUnits waits until all units answer, and stores the manager's address. Nothing answers while the application is stored.
func (d *deployer) waitForUnits(ctx context.Context) (err error) {
	if d.stored {
		return nil
	}
	d.address, err = d.wait(ctx, d.Info.Manager.User, d.password)
	return err
}

// wait polls the manager until it reaches the unit of every toskosed node, and returns the manager's address.
func (d *deployer) wait(ctx context.Context, user, password string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.opts.Timeout, fmt.Errorf("not everything answers after %s", d.opts.Timeout))
	defer cancel()
	ticker := time.NewTicker(300 * time.Millisecond)
	defer ticker.Stop()
	reported := map[string]bool{}
	last := errors.New("the manager does not answer")
	var unresponsive []node
	for {
		address, missing, err := d.ask(ctx, user, password)
		switch {
		case errors.Is(err, errDenied):
			if last, unresponsive = err, nil; !d.replaces {
				return "", err
			}
		case err == nil && len(missing) == 0:
			d.reportAnswering(reported, nil)
			last, unresponsive = nil, nil
		case err == nil:
			d.reportAnswering(reported, missing)
			last, unresponsive = unanswered(missing), missing
		case ctx.Err() == nil: // a request that the timeout interrupted gives no reason
			if why := d.unreachable(ctx, err); why != nil {
				return "", fmt.Errorf("%w (%w)", why, err)
			}
			last, unresponsive = fmt.Errorf("the manager does not answer: %w", err), nil
		}
		list, err := d.observer.Failures(ctx)
		if fatal := permanentFailure(list); err == nil && fatal != nil {
			return "", fatal
		}
		if last == nil { // all units answer
			if last = errors.Join(err, remaining(list)); last == nil {
				return address, nil
			}
		}
		select {
		case <-ctx.Done():
			d.unresponsive = unresponsive
			return "", fmt.Errorf("%w: %w", context.Cause(ctx), last)
		case <-ticker.C:
		}
	}
}

// reportAnswering prints each node whose unit answers for the first time.
func (d *deployer) reportAnswering(reported map[string]bool, missing []node) {
	for _, name := range d.Info.Nodes {
		waits := slices.ContainsFunc(missing, func(n node) bool { return n.Name == name })
		if !waits && !reported[name] {
			reported[name] = true
			d.Say("%s: answers", name)
		}
	}
}

func unanswered(missing []node) error {
	var waits []string
	for _, n := range missing {
		waits = append(waits, strings.TrimRight(n.Name+" is "+n.State+": "+n.Why, ": "))
	}
	return errors.New(strings.Join(waits, "; "))
}

// remaining returns the failures that remain although all units answer, such as a standalone container that keeps exiting.
func remaining(list []backend.Failure) error {
	var all []error
	for _, f := range list {
		all = append(all, fmt.Errorf("%s: %s", f.Service, f.Why))
	}
	return errors.Join(all...)
}

// permanentFailure returns an error if waiting longer is pointless.
func permanentFailure(list []backend.Failure) error {
	for _, f := range list {
		if f.Final && f.Job {
			return fmt.Errorf("job %s has failed", f.Service)
		}
		if f.Final {
			return fmt.Errorf("%s does not come up", f.Service)
		}
		if f.Times >= backend.Hopeless {
			return fmt.Errorf("%s has failed %d times", f.Service, f.Times)
		}
	}
	return nil
}

// unreachable returns why a running manager is unreachable, or nil if the reason is unknown.
func (d *deployer) unreachable(ctx context.Context, err error) error {
	if d.explainSilence == nil || !isNetworkError(err) {
		return nil
	}
	return d.explainSilence(ctx)
}

// isNetworkError reports whether an error is a network error or timeout.
func isNetworkError(err error) bool {
	var op *net.OpError
	var timeout net.Error
	return errors.As(err, &op) || errors.As(err, &timeout) && timeout.Timeout()
}
