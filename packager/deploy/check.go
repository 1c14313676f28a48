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
)

// check refuses a folder that is for a swarm only.
func (p *project) check(context.Context) error {
	if len(p.d.info.External) > 0 {
		return errors.New("its secrets are a swarm's (--secrets external), and the engine is in no swarm: " +
			"`docker swarm init` makes one, or package it with --secrets generated")
	}
	if _, err := os.Stat(p.d.file(compose.LocalFile)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("it is packaged for a swarm, without %s, and the engine is in none: package it with --target compose", compose.LocalFile)
	}
	return nil
}

// check refuses a folder whose secrets somebody else makes and has not made yet.
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

// check refuses what stack.check does.
func (c *cluster) check(ctx context.Context) error {
	if len(c.info.External) == 0 {
		return nil
	}
	out, err := c.d.output(ctx, c.words("get", secretKinds, "--output", "name")...)
	if err != nil {
		return err
	}
	have := strings.Fields(strings.ReplaceAll(string(out), "secret/", " "))
	return missingSecrets(fmt.Sprintf("namespace %q", c.info.Namespace), c.info.External, have,
		"kubectl --namespace "+c.info.Namespace+" create secret generic %s --from-file=KEY=FILE")
}

// missingSecrets names the secrets that somebody has to make, and how.
func missingSecrets(where string, want, have []string, command string) error {
	var lines []string
	for _, name := range want {
		if !slices.Contains(have, name) {
			lines = append(lines, fmt.Sprintf(command, name))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("the %s lacks %d of the %d secrets that somebody else makes; make them:%s", where, len(lines), len(want), indented(strings.Join(lines, "\n")))
}

// askReady asks the manager which toskosed nodes keep the application from
// being ready. Everybody may, also who does not know the password.
func (d *deployer) askReady(ctx context.Context, address string) ([]node, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/readyz", nil)
	if err != nil {
		return nil, fmt.Errorf("cannot ask at %s: %w", address, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return nil, nil
	}
	var problem struct {
		Nodes []string `json:"nodes"`
	}
	if err := json.Unmarshal(body, &problem); err != nil || len(problem.Nodes) == 0 {
		return nil, fmt.Errorf("GET %s: %s%s", req.URL, resp.Status, indented(lastLines(string(body), 5)))
	}
	var missing []node
	for _, name := range problem.Nodes {
		missing = append(missing, node{Name: name, State: "not ready"})
	}
	return missing, nil
}
