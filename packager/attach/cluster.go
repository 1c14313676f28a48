package attach

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"
	"golang.org/x/sync/errgroup"
	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// workload is a Deployment, a StatefulSet or a DaemonSet.
type workload struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name      string `yaml:"name"`
		Namespace string `yaml:"namespace"`
	} `yaml:"metadata"`
	Spec struct {
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		} `yaml:"selector"`
		Template struct {
			Metadata struct {
				Labels map[string]string `yaml:"labels"`
			} `yaml:"metadata"`
			Spec struct {
				Containers []podContainer `yaml:"containers"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type podContainer struct {
	Name    string   `yaml:"name"`
	Image   string   `yaml:"image"`
	Command []string `yaml:"command"`
	Args    []string `yaml:"args"`
	Folder  string   `yaml:"workingDir"`
	Env     []struct {
		Name  string  `yaml:"name"`
		Value *string `yaml:"value"`
	} `yaml:"env"`
	Ports []struct {
		Port int `yaml:"containerPort"`
	} `yaml:"ports"`
	Mounts []struct {
		Path string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

// service returns the container as a service of Compose. Kubernetes' command replaces the image's
// entry point and command, and args its command, as entrypoint and command do.
func (c podContainer) service(name string) types.ServiceConfig {
	s := types.ServiceConfig{Name: name, Image: c.Image, WorkingDir: c.Folder, Environment: types.MappingWithEquals{}}
	if c.Command != nil {
		s.Entrypoint = c.Command
	}
	if c.Args != nil {
		s.Command = c.Args
	}
	for _, v := range c.Env {
		s.Environment[v.Name] = v.Value
	}
	for _, p := range c.Ports {
		s.Expose = append(s.Expose, strconv.Itoa(p.Port))
	}
	for _, m := range c.Mounts {
		s.Volumes = append(s.Volumes, types.ServiceVolumeConfig{Type: unknownMount, Target: m.Path})
	}
	return s
}

// cluster are the workloads of a folder with a kustomization.
type cluster struct {
	dir, out  string // absolute paths of the folder, and of the one to write
	name      string
	namespace string // of the workloads; empty: none is given
	workloads []workload
	container map[string]string // that is attached, by workload
}

// Cluster is like Compose for the workloads of a folder with a kustomization. It writes a
// folder with another kustomization on top of the first: Options.Output, or the folder's name with
// "-toskose". Options.Files and Options.Profiles are not used.
func Cluster(ctx context.Context, dir string, opts Options) (*Result, error) {
	c, err := loadCluster(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	cfg, err := readSettings(opts.Config, c.dir)
	if err != nil {
		return nil, err
	}
	arch, err := opts.Images.Architecture(ctx)
	if err != nil {
		return nil, err
	}
	findings, err := c.look(ctx, opts, arch)
	if err != nil {
		return nil, err
	}
	result := &Result{Project: c.name, Folder: c.out, Services: findings, Namespace: c.namespace}
	result.access(opts)
	if !slices.ContainsFunc(findings, func(f Finding) bool { return f.Attached }) {
		return result, ErrNothing
	}
	for _, name := range []string{unitBinary, managerBinary} {
		result.Images = append(result.Images, ImageContext{clusterImage(opts, name), filepath.Join(c.out, "images", name)})
	}
	return result, c.write(opts, cfg, findings, arch)
}

func loadCluster(ctx context.Context, dir string, opts Options) (*cluster, error) {
	c := &cluster{container: map[string]string{}}
	var err error
	if c.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if c.out, err = filepath.Abs(cmp.Or(opts.Output, c.dir+"-"+FolderName)); err != nil {
		return nil, err
	}
	for outer, inner := range map[string]string{c.dir: c.out, c.out: c.dir} {
		if relative, err := filepath.Rel(outer, inner); err == nil && filepath.IsLocal(relative) {
			return nil, fmt.Errorf("kustomize cannot use %q from %q, as one is in the other: name another folder with --output", c.dir, c.out)
		}
	}
	if data, err := readLimited(filepath.Join(c.out, kustomization)); err == nil && !bytes.HasPrefix(data, []byte(header)) {
		return nil, fmt.Errorf("%q was not written by toskose attach, and would be replaced: name another folder with --output", filepath.Join(c.out, kustomization))
	}
	c.name = filepath.Base(c.dir)
	manifests, err := opts.Kustomize(ctx, c.dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read the manifests in %q, which must have a kustomization.yaml that lists them: %w", dir, err)
	}
	if err := c.parse(manifests); err != nil {
		return nil, fmt.Errorf("the manifests in %q: %w", dir, err)
	}
	return c, c.checkNames(opts)
}

// parse reads the workloads among the objects, in their order.
func (c *cluster) parse(manifests []byte) error {
	seen := map[string]bool{}
	for decoder := yaml.NewDecoder(bytes.NewReader(manifests)); ; {
		var w workload
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var kind struct {
			Kind string `yaml:"kind"`
		}
		if err := node.Decode(&kind); err != nil || !slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, kind.Kind) {
			continue
		}
		if err := node.Decode(&w); err != nil {
			return err
		}
		name := w.Metadata.Name
		switch {
		case seen[name]:
			return fmt.Errorf("two workloads have the name %q: rename one", name)
		case len(c.workloads) > 0 && w.Metadata.Namespace != c.namespace:
			return fmt.Errorf("%q is in namespace %q, and others are in %q: attach each namespace on its own", name, w.Metadata.Namespace, c.namespace)
		}
		seen[name], c.namespace = true, w.Metadata.Namespace
		c.workloads = append(c.workloads, w)
	}
}

// workload returns the workload with a name, which is one of a finding.
func (c *cluster) workload(name string) workload {
	return c.workloads[slices.IndexFunc(c.workloads, func(w workload) bool { return w.Metadata.Name == name })]
}

func (c *cluster) checkNames(opts Options) error {
	var names []string
	for _, w := range c.workloads {
		names = append(names, w.Metadata.Name)
	}
	var problems []error
	if slices.Contains(names, Manager) {
		problems = append(problems, fmt.Errorf("workload %q has the name of the manager that would be added: rename it", Manager))
	}
	for _, name := range slices.Concat(opts.Services, opts.Exclude) {
		if !slices.Contains(names, name) {
			problems = append(problems, fmt.Errorf("no workload is named %q%s", name, hint(name, names)))
		}
	}
	return errors.Join(problems...)
}

// look returns the findings of all workloads, in their order.
func (c *cluster) look(ctx context.Context, opts Options, arch string) ([]Finding, error) {
	findings, problems := make([]Finding, len(c.workloads)), make([]error, len(c.workloads))
	containers := make([]string, len(c.workloads))
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i, w := range c.workloads {
		group.Go(func() error {
			findings[i], containers[i], problems[i] = lookIntoPod(ctx, opts, w, arch)
			return nil
		})
	}
	_ = group.Wait() // the errors are in problems
	for i, w := range c.workloads {
		c.container[w.Metadata.Name] = containers[i]
	}
	return findings, errors.Join(problems...)
}

// lookIntoPod returns the finding of a workload: of its first container that can be attached, or of
// its first container.
func lookIntoPod(ctx context.Context, opts Options, w workload, arch string) (first Finding, container string, err error) {
	name := w.Metadata.Name
	forced := slices.Contains(opts.Services, name)
	switch {
	case slices.Contains(opts.Exclude, name):
		return Finding{Service: name, Reason: "excluded with --exclude"}, "", nil
	case len(opts.Services) > 0 && !forced:
		return Finding{Service: name, Reason: "not named by --service"}, "", nil
	}
	for i, c := range w.Spec.Template.Spec.Containers {
		f := Finding{Service: name, Image: c.Image}
		if err := inspect(ctx, opts, c.service(name), nil, arch, &f); err != nil {
			return f, "", fmt.Errorf("workload %q: %w: get it with `docker pull %s`, or leave the workload out with --exclude %s", name, err, c.Image, name)
		}
		if err := needsUnit(opts, &f); err != nil {
			return f, "", err
		}
		if f.Attached {
			return f, c.Name, nil
		}
		if i == 0 {
			first = f
		}
	}
	return first, "", forcedError(first, forced)
}

// podsOf returns the name of the headless Service that resolves to the pods of a workload.
func podsOf(workload string) string { return "toskose-" + workload }

func (c *cluster) document(cfg settings, findings []Finding) *spec.Application {
	app := &spec.Application{Name: c.name, Goal: cfg.goal, Nodes: []spec.Node{}, Components: []spec.Component{}, Volumes: []spec.Volume{}}
	for _, f := range findings {
		n := spec.Node{
			Name: f.Service, Type: "Container", Image: spec.Image{Kind: spec.ImageService, Name: f.Image}, Protocol: protocol.Container(),
			Alias: podsOf(f.Service),
		}
		if f.Attached {
			n.Attached = &spec.Attached{Requires: cfg.programs(f.Service)}
			n.Unit = &spec.Unit{Port: f.Port, User: user}
		}
		app.Nodes = append(app.Nodes, n)
	}
	return app
}

// clusterImage returns the name of an image with one of the binaries.
func clusterImage(opts Options, binary string) string {
	name := binary + ":" + image.Tag(opts.Version)
	if opts.Registry != "" {
		name = strings.TrimSuffix(opts.Registry, "/") + "/" + name
	}
	return name
}

// kustomization is the file that kustomize reads in a folder.
const kustomization = "kustomization.yaml"

// write writes the folder.
func (c *cluster) write(opts Options, cfg settings, findings []Finding, arch string) error {
	document, err := cfg.encode(c.document(cfg, findings))
	if err != nil {
		return err
	}
	files := []output.File{
		{Name: "app.json", Mode: 0o644, Data: document},
		{Name: ".gitignore", Mode: 0o644, Data: []byte("/secrets/\n/images/\n")},
	}
	for name, command := range map[string]string{unitBinary: packager.UnitPath, managerBinary: packager.ManagerPath} {
		data, err := readBinary(opts, name, arch)
		if err != nil {
			return err
		}
		dockerfile := fmt.Sprintf("%sFROM scratch\nCOPY %s %s\nUSER %s\nENTRYPOINT [%q]\n", header, name, command, packager.ManagerUser, command)
		folder := filepath.Join("images", name)
		files = append(files, output.File{Name: filepath.Join(folder, name), Mode: 0o755, Data: data},
			output.File{Name: filepath.Join(folder, "Dockerfile"), Mode: 0o644, Data: []byte(dockerfile)})
	}
	r := &clusterRenderer{cluster: c, opts: opts}
	for _, f := range findings {
		if f.Attached {
			r.findings = append(r.findings, f)
		} else {
			r.standalone = append(r.standalone, f.Service)
		}
	}
	manifests, err := r.files()
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.out); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(c.out, 0o755); err != nil { //nolint:gosec // as readable as the umask allows
			return err
		}
	}
	slices.SortFunc(files, func(a, b output.File) int { return cmp.Compare(a.Name, b.Name) })
	return output.WriteSecrets(c.out, credentials(c.name, opts, findings), append(files, manifests...), output.Options{Random: opts.Random, Now: opts.Now})
}

// selector returns labels that select the pods of a workload.
func (w workload) selector() map[string]string {
	if labels := w.Spec.Selector.MatchLabels; len(labels) > 0 {
		return maps.Clone(labels)
	}
	return maps.Clone(w.Spec.Template.Metadata.Labels)
}
