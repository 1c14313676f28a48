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
	"github.com/toskose/toskose/packager/kubernetes"
)

// Secrets are those of the namespace, by their annotation: their values stay there.
func (c *Cluster) Secrets(ctx context.Context) (backend.Suffixes, error) {
	column := `{range .items[*]}{.metadata.annotations.` + strings.ReplaceAll(kubernetes.SecretAnnotation, ".", `\.`) + `}{"\n"}{end}`
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

// Publish applies the Secrets of the folder, and nothing else. Their names stay, and pods see
// other values when the kubelet has looked, in a minute or so.
func (c *Cluster) Publish(ctx context.Context) error {
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
