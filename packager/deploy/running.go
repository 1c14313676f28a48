package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/docker/docker/client"
	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager/endpoint"
	"github.com/toskose/toskose/packager/output"
)

// Running is an application that runs, whose secrets are to be replaced.
type Running struct{ d *deployer }

// Open finds the application of a folder where it runs. Close lets go of it.
func Open(ctx context.Context, engine *client.Client, opts Options) (*Running, error) {
	d, err := open(ctx, engine, opts)
	if err != nil {
		return nil, err
	}
	r := &Running{d}
	if err := r.find(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Running) find(ctx context.Context) error {
	d := r.d
	if len(d.info.External) > 0 {
		return fmt.Errorf("the secrets of %q are external: whoever has made them replaces them", d.info.App)
	}
	before, err := d.where.before(ctx)
	if err != nil {
		return err
	}
	if !before.running {
		return fmt.Errorf("%q does not run %s", d.info.App, d.where.name)
	}
	all, err := d.deployed(ctx)
	if err != nil {
		return err
	}
	d.log = all.Log
	if now, ok := d.log.Current(); ok && now.Folder != d.opts.Dir && d.kind == Compose {
		return fmt.Errorf("%q runs with the secrets of the folder %q: name that", d.info.App, now.Folder)
	}
	if output.Replacing(d.opts.Dir) == nil { // else they differ
		return d.checkSecrets(ctx)
	}
	return nil
}

// Close lets go of a port that was forwarded.
func (r *Running) Close() {
	if r.d.where.close != nil {
		r.d.where.close()
	}
}

// Info is what was packaged.
func (r *Running) Info() output.Info { return r.d.info }

// Nodes are the toskosed ones of what was packaged in a folder.
func Nodes(dir string) ([]string, error) {
	info, _, err := endpoint.ReadInfo(dir)
	return info.Nodes, err
}

// Where says where it runs, for people.
func (r *Running) Where() string { return r.d.where.name }

// OnSwarm reports whether a swarm runs it, whose secrets cannot change.
func (r *Running) OnSwarm() bool { return r.d.kind == Swarm }

// Folders are those on this machine that other releases of it were deployed from.
func (r *Running) Folders() []string {
	var all []string
	for _, record := range r.d.log {
		if info, err := os.Stat(record.Folder); err == nil && info.IsDir() && record.Folder != r.d.opts.Dir && !slices.Contains(all, record.Folder) {
			all = append(all, record.Folder)
		}
	}
	return all
}

// Access says where its manager is, and who may ask it by what the folder has now.
func (r *Running) Access(ctx context.Context) (endpoint.Access, error) {
	host, err := r.d.where.host(ctx)
	if err != nil {
		return endpoint.Access{}, err
	}
	password, err := r.d.password()
	return r.d.access(host, password), err
}

// Publish hands the folder's secrets to what runs.
func (r *Running) Publish(ctx context.Context) error {
	if r.d.where.publish == nil {
		return nil
	}
	return r.d.where.publish(ctx)
}

// publish applies the Secrets of the folder, and nothing else. Their names stay, and pods see
// other values when the kubelet has looked, in a minute or so.
func (c *cluster) publish(ctx context.Context) error {
	all, err := c.all.Output(ctx, "kustomize", c.d.opts.Dir)
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
