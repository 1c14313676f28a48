package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// wait polls the manager until it reaches the unit of every toskosed node, and returns the manager's address.
func (d *deployer) wait(ctx context.Context, user, password string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.opts.Timeout, fmt.Errorf("not all of it answers after %s", d.opts.Timeout))
	defer cancel()
	ticker := time.NewTicker(300 * time.Millisecond)
	defer ticker.Stop()
	said := map[string]bool{}
	last := errors.New("the manager does not answer")
	var silent []node
	for {
		address, missing, err := d.ask(ctx, user, password)
		switch {
		case errors.Is(err, errDenied):
			if last, silent = err, nil; !d.replaces {
				return "", err
			}
		case err == nil && len(missing) == 0:
			d.sayAnswering(said, nil)
			last, silent = nil, nil
		case err == nil:
			d.sayAnswering(said, missing)
			last, silent = unanswered(missing), missing
		case ctx.Err() == nil: // a request cut off by the timeout says nothing more
			if why := d.unheard(ctx, err); why != nil {
				return "", fmt.Errorf("%w (%w)", why, err)
			}
			last, silent = fmt.Errorf("the manager does not answer: %w", err), nil
		}
		list, err := d.where.Failures(ctx)
		if fatal := inVain(list); err == nil && fatal != nil {
			return "", fatal
		}
		if last == nil { // all units answer
			if last = errors.Join(err, troubled(list)); last == nil {
				return address, nil
			}
		}
		select {
		case <-ctx.Done():
			d.silent = silent
			return "", fmt.Errorf("%w: %w", context.Cause(ctx), last)
		case <-ticker.C:
		}
	}
}

// sayAnswering prints each node whose unit answers for the first time.
func (d *deployer) sayAnswering(said map[string]bool, missing []node) {
	for _, name := range d.Info.Nodes {
		waits := slices.ContainsFunc(missing, func(n node) bool { return n.Name == name })
		if !waits && !said[name] {
			said[name] = true
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

// troubled returns the failures that remain although all units answer, such as a standalone container that keeps exiting.
func troubled(list []backend.Failure) error {
	var all []error
	for _, f := range list {
		all = append(all, fmt.Errorf("%s: %s", f.Service, f.Why))
	}
	return errors.Join(all...)
}

// inVain returns an error if waiting longer is pointless.
func inVain(list []backend.Failure) error {
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
