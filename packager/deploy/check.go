package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/endpoint"
	"github.com/toskose/toskose/packager/internal/command"
)

// refuse refuses what cannot be deployed, before anything is changed.
func (t target) refuse(ctx context.Context) error {
	if err := t.check(ctx); err != nil || t.others == nil {
		return err
	}
	return t.others(ctx)
}

// check refuses a folder that is packaged only for a swarm.
func (p *project) check(context.Context) error {
	if len(p.d.info.External) > 0 {
		return errors.New("its secrets are a swarm's (--secrets external), and the engine is not in a swarm: " +
			"`docker swarm init` makes one, or package it with --secrets generated")
	}
	if _, err := os.Stat(p.d.file(compose.LocalFile)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("it is packaged for a swarm, without %s, and the engine is not in one: package it with --target compose", compose.LocalFile)
	}
	if bind := p.d.info.Manager.Bind; config.IsLoopback(bind) && !thisMachine(p.d.engineHost()) {
		return fmt.Errorf("its manager would be published at %s of the engine's machine, %s, where it is not reached from here: "+
			"name another address of that machine by manager.bind in toskose.yml, and package it again with --tls", bind, p.d.engineHost())
	}
	return nil
}

// thisMachine reports whether a host is this machine.
func thisMachine(host string) bool {
	return host == config.LocalName || config.IsLoopback(host)
}

// check refuses a folder whose external secrets do not exist yet.
func (s *stack) check(ctx context.Context) error {
	if len(s.d.info.External) == 0 {
		return nil
	}
	list, err := s.d.engine.SecretList(ctx, swarm.SecretListOptions{})
	if err != nil {
		return fmt.Errorf("cannot list secrets: %w", err)
	}
	have := make([]string, len(list))
	for i, secret := range list {
		have[i] = secret.Spec.Name
	}
	return missingSecrets("swarm", s.d.info.External, have, "docker secret create %s FILE")
}

// check refuses what stack.check refuses.
func (c *cluster) check(ctx context.Context) error {
	if len(c.info.External) == 0 {
		return nil
	}
	have, err := c.in.Names(ctx, secretKinds)
	if err != nil {
		return err
	}
	for i, name := range have {
		have[i] = strings.TrimPrefix(name, "secret/")
	}
	return missingSecrets(fmt.Sprintf("namespace %q", c.info.Namespace), c.info.External, have,
		"kubectl --namespace "+c.info.Namespace+" create secret generic %s --from-file=KEY=FILE")
}

// missingSecrets names the external secrets that are missing, with the commands
// that create them.
func missingSecrets(where string, want, have []string, how string) error {
	var lines []string
	for _, name := range want {
		if !slices.Contains(have, name) {
			lines = append(lines, fmt.Sprintf(how, name))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("the %s lacks %d of the %d external secrets; create them:%s", where, len(lines), len(want), command.Indented(strings.Join(lines, "\n")))
}

// askReady asks the manager which toskosed nodes keep the application from
// being ready. That takes no password.
func (d *deployer) askReady(ctx context.Context, address string) ([]node, error) {
	url := address + "/readyz"
	code, body, err := d.get(ctx, url, "", "")
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

// get asks the manager, as a user unless that is empty.
func (d *deployer) get(ctx context.Context, url, user, password string) (code int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	if d.http == nil {
		if d.http, err = endpoint.Client(d.opts.Dir, d.info); err != nil {
			return 0, nil, err
		}
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	return resp.StatusCode, body, err
}

func unexpected(url string, code int, body []byte) error {
	return fmt.Errorf("GET %s: %d %s%s", url, code, http.StatusText(code), command.Indented(command.LastLines(string(body), 5)))
}
