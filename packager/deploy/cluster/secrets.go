package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/output"
)

// Secrets reads the secrets' annotations in the namespace. It does not read their values.
func (c *Cluster) Secrets(ctx context.Context) (backend.Suffixes, error) {
	column := `{range .items[*]}{.metadata.annotations.` + strings.ReplaceAll(output.SecretAnnotation, ".", `\.`) + `}{"\n"}{end}`
	out, err := c.in.Output(ctx, "get", secretKinds, "--selector", c.info.Selector, "--output", "jsonpath="+column)
	if err != nil {
		return nil, err
	}
	all := backend.Suffixes{}
	for _, line := range strings.Fields(string(out)) {
		if name, suffix, ok := strings.Cut(line, "="); ok {
			all.Add(name, suffix)
		}
	}
	return all, nil
}

// PublishSecrets applies only the Secrets of the folder. Their names do not change, and pods see the new values after the kubelet's
// next sync, within about a minute.
func (c *Cluster) PublishSecrets(ctx context.Context) error {
	all, err := c.all.Output(ctx, "kustomize", c.Dir)
	if err != nil {
		return err
	}
	secrets, err := secretsOf(all)
	if err != nil {
		return fmt.Errorf("cannot read what `kubectl kustomize` prints: %w", err)
	}
	return c.in.Run(ctx, bytes.NewReader(secrets), nil, "apply", "--filename", "-")
}

// secretsOf returns the Secrets among manifests.
func secretsOf(manifests []byte) ([]byte, error) {
	var some bytes.Buffer
	to := yaml.NewEncoder(&some)
	for from := yaml.NewDecoder(bytes.NewReader(manifests)); ; {
		var one map[string]any
		err := from.Decode(&one)
		if errors.Is(err, io.EOF) {
			return some.Bytes(), to.Close()
		}
		if err != nil {
			return nil, err
		}
		if one["kind"] == "Secret" {
			if err := to.Encode(one); err != nil {
				return nil, err
			}
		}
	}
}
