package deploy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// failure is what is wrong with a service.
type failure struct {
	service string
	why     string
	times   int // that it has failed
	final   bool
}

// hopeless is after how many failures waiting is given up.
const hopeless = 3

// settled is after how long what has failed before counts as running.
const settled = 10 * time.Second

// patience is for one answer of the manager, which itself waits for units.
const patience = 30 * time.Second

// node is what is read of the manager's answer about one.
type node struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Why   string `json:"why"`
}

// wait asks the manager until it finds the unit of every toskosed node, and
// gives the manager's address.
func (d *deployer) wait(ctx context.Context, user, password string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.opts.Timeout, fmt.Errorf("not all of it answers after %s", d.opts.Timeout))
	defer cancel()
	ticker := time.NewTicker(300 * time.Millisecond)
	defer ticker.Stop()
	told := map[string]bool{}
	last := errors.New("the manager does not answer")
	for {
		address, missing, err := d.ask(ctx, user, password)
		switch {
		case errors.Is(err, errDenied):
			if last = err; !d.replaces {
				return "", err
			}
		case err == nil && len(missing) == 0:
			d.tell(told, nil)
			if last = d.troubled(ctx); last == nil {
				return address, nil
			}
		case err == nil:
			d.tell(told, missing)
			last = unanswered(missing)
		case ctx.Err() == nil: // otherwise it says only that the time is up
			last = fmt.Errorf("the manager does not answer: %w", err)
		}
		if fatal := d.hopeless(ctx); fatal != nil {
			return "", fatal
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%w: %w", context.Cause(ctx), last)
		case <-ticker.C:
		}
	}
}

// tell says which nodes have come to answer.
func (d *deployer) tell(told map[string]bool, missing []node) {
	for _, name := range d.info.Nodes {
		waits := slices.ContainsFunc(missing, func(n node) bool { return n.Name == name })
		if !waits && !told[name] {
			told[name] = true
			d.say("%s: answers", name)
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

var errDenied = errors.New("another manager answers at its port, or has another password: it refuses the one in secrets/manager-password")

// ask gives the toskosed nodes whose unit the manager does not reach.
func (d *deployer) ask(ctx context.Context, user, password string) (address string, missing []node, err error) {
	host, err := d.where.host(ctx)
	if err != nil {
		return "", nil, err
	}
	address = "http://" + host
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if len(d.info.External) > 0 { // nobody here knows the password
		missing, err = d.askReady(ctx, address)
		return address, missing, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/api/v1/node/", nil)
	if err != nil {
		return "", nil, fmt.Errorf("cannot ask at %s: %w", address, err)
	}
	req.SetBasicAuth(user, password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized {
		return "", nil, errDenied
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return "", nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return "", nil, fmt.Errorf("GET %s: %s%s", req.URL, resp.Status, indented(lastLines(string(body), 5)))
	}
	var nodes []node
	if err := json.Unmarshal(body, &nodes); err != nil {
		return "", nil, fmt.Errorf("GET %s: %w", req.URL, err)
	}
	return address, unreached(d.info.Nodes, nodes), nil
}

func unreached(want []string, have []node) []node {
	var missing []node
	for _, name := range want {
		i := slices.IndexFunc(have, func(n node) bool { return n.Name == name })
		switch {
		case i < 0:
			missing = append(missing, node{Name: name, State: "unknown to the manager"})
		case have[i].State != "running":
			missing = append(missing, have[i])
		}
	}
	return missing
}

// troubled is what is wrong although all units answer: a standalone container
// that does not stay up.
func (d *deployer) troubled(ctx context.Context) error {
	list, err := d.where.failures(ctx)
	if err != nil {
		return err
	}
	var all []error
	for _, f := range list {
		all = append(all, fmt.Errorf("%s: %s", f.service, f.why))
	}
	return errors.Join(all...)
}

// hopeless is the error that waiting cannot mend.
func (d *deployer) hopeless(ctx context.Context) error {
	list, err := d.where.failures(ctx)
	if err != nil {
		return nil //nolint:nilerr // the next round asks again, until the time is up
	}
	for _, f := range list {
		if f.final {
			return fmt.Errorf("%s does not come up", f.service)
		}
		if f.times >= hopeless {
			return fmt.Errorf("%s has failed %d times", f.service, f.times)
		}
	}
	return nil
}

// reasons tells, for people, what is wrong with each service, with the end of
// its log. It is best effort: the error that it is added to stands by itself.
func (d *deployer) reasons(ctx context.Context) string {
	list, err := d.where.failures(ctx)
	if err != nil {
		return ""
	}
	slices.SortFunc(list, func(a, b failure) int { return cmp.Compare(a.service, b.service) })
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "\n  %s: %s", f.service, f.why)
		if text, err := d.where.logs(ctx, f.service); err == nil {
			b.WriteString(indented(lastLines(text, 10)))
		}
	}
	return b.String()
}
