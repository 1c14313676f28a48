package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/httpserver"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

const (
	pairs   = 1000            // requests to the unit and to the manager, alternating
	callers = 32              // concurrent
	rush    = 5 * time.Second // how long they send requests
)

// atLeast prints a measurement and its goal, a minimum.
func (b *bench) atLeast(what string, got, goal float64, unit string) {
	verdict := "ok"
	if got < goal {
		verdict, b.missed = "MISSED", true
	}
	fmt.Printf("%-52s %10.2f %-4s (goal at least %g) %s\n", what, got, unit, goal, verdict)
}

// door is a manager that serves its API on a port, and its units, which accept requests, too.
type door struct {
	units  *fleet
	url    string
	pool   *unitclient.Pool
	client *http.Client
}

// requests measures the latency that the manager adds to a unit's requests, and the manager's
// request rate, with few and many units.
func (b *bench) requests(binary string, most int) error {
	for _, count := range []int{1, 100, 1000} {
		if count > most {
			break
		}
		if err := b.requestsBeside(binary, count); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) requestsBeside(binary string, count int) error {
	d := door{
		units: &fleet{dir: b.dir, perNode: perNode, configuration: configuration}, pool: unitclient.NewPool(unitclient.Limits{}),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}},
	}
	defer d.units.stop()
	defer d.pool.Close()
	if err := d.units.start(binary, count); err != nil {
		return err
	}
	app := model(count)
	logger := slog.New(slog.DiscardHandler)
	m, err := manager.New(app, manager.Options{Containers: d.units, Passwords: passwordOf, Logger: logger})
	if err != nil {
		return err
	}
	defer m.Close()
	gate, err := access.New(access.Options{First: user, Password: access.Always(password)})
	if err != nil {
		return err
	}
	handler, err := api.New(m, api.Options{Access: gate, Logger: logger})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		return err
	}
	d.url = "http://" + listener.Addr().String() + "/api/v1/"
	served := make(chan error, 1)
	go func() {
		served <- httpserver.Serve(ctx, listener, handler, httpserver.Options{Logger: logger, Stopping: m.Close})
	}()
	err = b.measureDoor(ctx, d, fmt.Sprintf("%d units: ", count))
	cancel()
	d.client.CloseIdleConnections()
	return errors.Join(err, <-served)
}

func (b *bench) measureDoor(ctx context.Context, d door, with string) error {
	for _, kind := range []struct {
		name            string
		direct, through func(ctx context.Context, n int) error
	}{
		{"an operation", d.operateDirectly, func(ctx context.Context, n int) error { return d.operate(ctx, 0, 1, n) }},
		{"a read of a log", d.readLogDirectly, func(ctx context.Context, _ int) error {
			return d.ask(ctx, http.MethodGet, "node/n0/log?tail=1000&replica="+d.units.addrs[0].String())
		}},
	} {
		if err := b.added(ctx, with+kind.name, kind.direct, kind.through); err != nil {
			return err
		}
	}
	if err := b.rate(ctx, with+"reads of an operation", callers, 300, func(ctx context.Context, caller, _ int) error {
		return d.ask(ctx, http.MethodGet, fmt.Sprintf("node/n%d/%s/create", d.node(caller), name(d.node(caller), caller%components)))
	}); err != nil {
		return err
	}
	units := len(d.units.addrs)
	return b.rate(ctx, with+"operations", min(callers, units*components), 100, func(ctx context.Context, caller, n int) error {
		return d.operate(ctx, caller%units, caller/units, n) // each caller uses a separate component
	})
}

// added alternates between requests to the unit and to the manager, so that both run under the
// same conditions.
func (b *bench) added(ctx context.Context, what string, direct, through func(ctx context.Context, n int) error) error {
	var alone, both []time.Duration
	for n := range pairs + 20 {
		begun := time.Now()
		if err := direct(ctx, n); err != nil {
			return fmt.Errorf("%s of the unit: %w", what, err)
		}
		half := time.Now()
		if err := through(ctx, n); err != nil {
			return fmt.Errorf("%s by the manager: %w", what, err)
		}
		if n >= 20 { // the first requests open connections
			alone, both = append(alone, half.Sub(begun)), append(both, time.Since(half))
		}
	}
	slices.Sort(alone)
	slices.Sort(both)
	for _, at := range []struct {
		name       string
		part, goal float64
	}{{"median", 0.5, 1}, {"99 %", 0.99, 5}} {
		i := int(float64(pairs) * at.part)
		b.row(fmt.Sprintf("%s, of the unit, %s", what, at.name), milliseconds(alone[i]), 0, "ms")
		b.row(fmt.Sprintf("%s, added by the manager, %s", what, at.name), milliseconds(both[i]-alone[i]), at.goal, "ms")
	}
	return nil
}

// rate measures the number of requests per second for a number of callers.
func (b *bench) rate(ctx context.Context, what string, callers int, goal float64, do func(ctx context.Context, caller, n int) error) error {
	until, stop := context.WithTimeout(ctx, rush)
	defer stop()
	var all sync.WaitGroup
	var answered atomic.Int64
	failed := make([]error, callers)
	before, err := used()
	if err != nil {
		return err
	}
	begun := time.Now()
	for caller := range callers {
		all.Go(func() {
			for n := 0; until.Err() == nil && failed[caller] == nil; n++ {
				failed[caller] = do(ctx, caller, n)
				answered.Add(1)
			}
		})
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	n := float64(answered.Load())
	b.atLeast(what, n/time.Since(begun).Seconds(), goal, "/s")
	after, err := used()
	b.row(what+", processor time of each, with its client", milliseconds(after-before)/n, 0, "ms")
	return err
}

// node returns the number of the node that a caller reads.
func (d door) node(caller int) int { return caller % ((len(d.units.addrs) + perNode - 1) / perNode) }

// operate runs an operation of a component through the manager, and waits for it.
func (d door) operate(ctx context.Context, unit, component, n int) error {
	node := unit / perNode
	return d.ask(ctx, http.MethodPost, fmt.Sprintf("node/n%d/%s/%s?replica=%s", node, name(node, component), []string{"create", "delete"}[n%2], d.units.addrs[unit]))
}

func (d door) ask(ctx context.Context, method, path string) error {
	r, err := http.NewRequestWithContext(ctx, method, d.url+path, http.NoBody)
	if err != nil {
		return err
	}
	r.SetBasicAuth(user, password)
	answer, err := d.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text := &bytes.Buffer{}
	if _, err := io.Copy(text, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, answer.Status, text)
	}
	return nil
}

func (d door) unit() *unitclient.Client {
	return d.pool.Client(d.units.addrs[0], unitclient.Credentials{User: user, Passwords: func() []string { return []string{password} }})
}

// operateDirectly runs the same operation of another component of the first unit.
func (d door) operateDirectly(ctx context.Context, n int) error {
	x, err := d.unit().Execute(ctx, wire.ExecuteRequest{
		ID: fmt.Sprintf("direct-%d", n), Component: name(0, 0), Operation: []string{"Standard.create", "Standard.delete"}[n%2], By: "bench",
	})
	if err == nil && !x.Outcome.Done() {
		x, err = d.unit().Execution(ctx, x.ID, time.Minute)
	}
	if err == nil && x.Outcome != wire.OutcomeSucceeded {
		err = fmt.Errorf("it %s: %s", x.Outcome, x.Reason)
	}
	return err
}

func (d door) readLogDirectly(ctx context.Context, _ int) error {
	_, err := d.unit().ReadUnitLog(ctx, -1000, 0)
	return err
}
