package deploy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/endpoint"
	"github.com/toskose/toskose/packager/internal/command"
)

// failure is what is wrong with a service.
type failure struct {
	service string
	why     string
	times   int    // that it has failed
	task    string // of a swarm, which has failed last
	final   bool
	job     bool // it is there to end
	young   bool // nothing is known to be wrong, but it has yet to show that it stays up
}

// hopeless is the number of failures after which waiting ends.
const hopeless = 3

// settled is how long a container that has failed before has to run to count as
// running.
const settled = 10 * time.Second

// proven is how long a container without a health check has to run to count as running
// where it has not failed yet: what cannot work mostly ends at once.
const proven = 3 * time.Second

// isYoung reports whether something has started so recently that it may end yet. A clock of the
// engine's that is ahead says nothing.
func isYoung(started time.Time) bool {
	age := time.Since(started)
	return age >= 0 && age < proven
}

// patience is the time for one answer of the manager, which itself waits for units.
const patience = 30 * time.Second

// node is what is read of the manager's answer about one.
type node struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Why   string `json:"why"`

	Replicas []replica `json:"replicas"`
}

// wait asks the manager until it reaches the unit of every toskosed node, and
// returns the manager's address.
func (d *deployer) wait(ctx context.Context, user, password string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.opts.Timeout, fmt.Errorf("not all of it answers after %s", d.opts.Timeout))
	defer cancel()
	ticker := time.NewTicker(300 * time.Millisecond)
	defer ticker.Stop()
	said := map[string]bool{}
	last := errors.New("the manager does not answer")
	for {
		address, missing, err := d.ask(ctx, user, password)
		switch {
		case errors.Is(err, errDenied):
			if last = err; !d.replaces {
				return "", err
			}
		case err == nil && len(missing) == 0:
			d.sayAnswering(said, nil)
			last = nil
		case err == nil:
			d.sayAnswering(said, missing)
			last = unanswered(missing)
		case ctx.Err() == nil: // otherwise it says only that the time is up
			if why := d.unheard(ctx, err); why != nil {
				return "", fmt.Errorf("%w (%w)", why, err)
			}
			last = fmt.Errorf("the manager does not answer: %w", err)
		}
		list, err := d.where.failures(ctx)
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
			return "", fmt.Errorf("%w: %w", context.Cause(ctx), last)
		case <-ticker.C:
		}
	}
}

// sayAnswering says which nodes answer now.
func (d *deployer) sayAnswering(said map[string]bool, missing []node) {
	for _, name := range d.info.Nodes {
		waits := slices.ContainsFunc(missing, func(n node) bool { return n.Name == name })
		if !waits && !said[name] {
			said[name] = true
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

var errDenied = errors.New("the manager at its port refuses the password in secrets/manager-password: it is another manager, or has another password")

// ask returns the manager's address, and the toskosed nodes whose unit it does
// not reach.
func (d *deployer) ask(ctx context.Context, user, password string) (address string, missing []node, err error) {
	host, err := d.where.host(ctx)
	if err != nil {
		return "", nil, err
	}
	address = endpoint.URL(d.info, host)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if len(d.info.External) > 0 { // nobody here knows the password
		missing, err = d.askReady(ctx, address)
		return address, missing, err
	}
	url := address + "/api/v1/node/"
	code, body, err := d.get(ctx, url, user, password)
	switch {
	case err != nil:
		return "", nil, err
	case code == http.StatusUnauthorized:
		return "", nil, errDenied
	case code != http.StatusOK:
		return "", nil, unexpected(url, code, body)
	}
	var nodes []node
	if err := json.Unmarshal(body, &nodes); err != nil {
		return "", nil, fmt.Errorf("GET %s: %w", url, err)
	}
	d.doubt(nodes)
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

// troubled is what is wrong although all units answer, such as a standalone
// container that does not stay up.
func troubled(list []failure) error {
	var all []error
	for _, f := range list {
		all = append(all, fmt.Errorf("%s: %s", f.service, f.why))
	}
	return errors.Join(all...)
}

// inVain returns an error that waiting cannot resolve.
func inVain(list []failure) error {
	for _, f := range list {
		if f.final && f.job {
			return fmt.Errorf("job %s has failed", f.service)
		}
		if f.final {
			return fmt.Errorf("%s does not come up", f.service)
		}
		if f.times >= hopeless {
			return fmt.Errorf("%s has failed %d times", f.service, f.times)
		}
	}
	return nil
}

// reasons explains, for people, what is wrong with each service, with the end of
// its log. It is best effort.
func (d *deployer) reasons(ctx context.Context) string {
	list, err := d.where.failures(ctx)
	if err != nil {
		return ""
	}
	slices.SortFunc(list, func(a, b failure) int { return cmp.Compare(a.service, b.service) })
	var b strings.Builder
	for _, f := range list {
		if f.young {
			continue
		}
		fmt.Fprintf(&b, "\n  %s: %s", f.service, f.why)
		if text, err := d.where.logs(ctx, f); err == nil {
			if f.job {
				text = saidByJob(text)
			}
			b.WriteString(command.Indented(command.LastLines(text, 10)))
		}
	}
	return b.String()
}
