package volume

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/manager/client"
)

// leaseTime is how long the goal leaves components alone after the last renewal of the lease,
// and renewal how often it is renewed.
const (
	leaseTime = time.Minute
	renewal   = 15 * time.Second
)

// stopID is the prefix of the ids of executions that stop components. Without a goal, these ids
// show which components a killed command has left stopped.
const stopID = "volume-stop-"

var errLeaseLost = errors.New("the manager could not be reached for a minute, so that it may have started the components again")

// lease prevents the goal from starting components until it expires.
type lease struct {
	id         string
	components []string
	stop       context.CancelFunc
	stopped    chan struct{}
}

// hold begins a lease on components, and renews it until it is released. It calls lost if the
// lease expires. With a manager of an earlier release, which has no leases, or without a goal,
// there is no lease.
func (w *stopped) hold(ctx context.Context, c *client.Client, components []string, lost context.CancelCauseFunc) error {
	l := &lease{id: "volume-" + strings.ToLower(rand.Text()), components: components, stopped: make(chan struct{})}
	now, err := c.Lease(ctx, l.id, components, leaseTime)
	var p *client.Problem
	if errors.As(err, &p) && p.Status == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot keep the goal from starting the stopped components: %w", err)
	}
	if !now.Goal {
		w.s.say("%s has no goal: if this command is killed, the next `toskose volume backup --stop` or `restore --stop` starts the stopped components, or `toskose up` does", w.p.app)
		return nil
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop, w.lease = stop, l
	go func() {
		defer close(l.stopped)
		w.renew(running, l, lost)
	}()
	return nil
}

// renew renews a lease. The lease is lost if the manager reports that it had expired, or does not
// answer for the duration of a lease.
func (w *stopped) renew(ctx context.Context, l *lease, lost context.CancelCauseFunc) {
	ticker := time.NewTicker(renewal)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		began := time.Now()
		err := w.ask(ctx, func(c *client.Client) error {
			ctx, cancel := context.WithTimeout(ctx, renewal)
			defer cancel()
			now, err := c.Lease(ctx, l.id, l.components, leaseTime)
			if err == nil && !now.Renewed {
				return errLeaseLost
			}
			return err
		})
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errLeaseLost), err != nil && time.Since(last) >= leaseTime-renewal:
			lost(errLeaseLost)
			return
		case err == nil:
			last = began
		}
	}
}

// release ends the lease at the manager.
func (w *stopped) release(ctx context.Context, c *client.Client) error {
	if w.lease == nil {
		return nil
	}
	if err := c.EndLease(ctx, w.lease.id); err != nil {
		return fmt.Errorf("cannot give the components back to the goal, which has them in %s: %w", leaseTime, err)
	}
	return nil
}

// end stops renewing.
func (l *lease) end() {
	l.stop()
	<-l.stopped
}

// leftStopped returns the components that a killed command has left stopped, if no goal starts
// them: the last execution of each is the stop of such a command.
func leftStopped(ctx context.Context, c *client.Client, app client.App) ([]client.Component, error) {
	var all []client.Component
	for _, of := range slices.Backward(app.Components) {
		if slices.ContainsFunc(of.Allowed, isStop) || !slices.ContainsFunc(of.Allowed, isStart) {
			continue
		}
		h, err := c.History(ctx, client.HistoryQuery{Node: of.Node, Component: of.Name, Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("cannot find out what stopped %q: %w", of.Name, err)
		}
		if len(h.Executions) > 0 && strings.HasPrefix(h.Executions[0].ID, stopID) {
			all = append(all, of)
		}
	}
	return all, nil
}
