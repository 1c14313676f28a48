package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/deploy/backend"
)

// node is the part of the manager's answer about a node that waiting needs.
type node struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Why   string `json:"why"`

	Replicas []replica `json:"replicas"`
}

// replica is the part of the manager's answer about a replica that waiting needs.
type replica struct {
	Instance string    `json:"instance"`
	Gone     time.Time `json:"gone"`
}

var errDenied = errors.New("the manager at its port refuses the password in secrets/manager-password: it is another manager, or has another password")

// ask returns the manager's address and the toskosed nodes whose units the manager cannot reach.
func (d *deployer) ask(ctx context.Context, user, password string) (address string, missing []node, err error) {
	host, err := d.location.Host(ctx)
	if err != nil {
		return "", nil, err
	}
	address = backend.ManagerURL(d.Info, host)
	ctx, cancel := context.WithTimeout(ctx, backend.Patience)
	defer cancel()
	if len(d.Info.External) > 0 { // external secrets: the password is not known here
		missing, err = d.askReady(ctx, address)
		return address, missing, err
	}
	url := address + "/api/v1/node/"
	code, body, err := d.Get(ctx, url, user, password)
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
	d.markReplaced(nodes)
	return address, unreached(d.Info.Nodes, nodes), nil
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

// askReady returns the toskosed nodes that keep the application from being ready. It needs no password.
func (d *deployer) askReady(ctx context.Context, address string) ([]node, error) {
	url := address + "/readyz"
	code, body, err := d.Get(ctx, url, "", "")
	if err != nil || code == http.StatusOK {
		return nil, err
	}
	var problem struct {
		Nodes []string `json:"nodes"`
	}
	if err := json.Unmarshal(body, &problem); err != nil || len(problem.Nodes) == 0 {
		return nil, unexpected(url, code, body)
	}
	var missing []node
	for _, name := range problem.Nodes {
		missing = append(missing, node{Name: name, State: "not ready"})
	}
	return missing, nil
}

func unexpected(url string, code int, body []byte) error {
	return fmt.Errorf("GET %s: %d %s%s", url, code, http.StatusText(code), command.Indented(command.LastLines(string(body), 5)))
}
