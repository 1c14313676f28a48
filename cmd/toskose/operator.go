package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/operator/levels"
	"github.com/toskose/toskose/operator/manifests"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/output"
)

const operatorHelp = `Write the manifests that install Toskose's operator on Kubernetes: a kind of custom
resource for each level of a plant, for applications and for components, and a
controller with its permissions for each. ` + "`kubectl apply -k DIR`" + ` installs them.

Each level manages the one below it; the lowest level manages applications. Without
--levels, there are only applications and their components.

The cluster has to have the operator's image: --build makes it on the Docker engine from
the binary beside toskose, and --enable-push also pushes it.`

const operatorExamples = `  toskose operator --levels assemblyline,asset -o plant
  toskose operator --levels factory:factories --together -o plant
  toskose operator --levels assemblyline,asset --image registry.example/toskose-operator:1 -p -o plant`

// operatorFlags are the flags of `toskose operator`.
type operatorFlags struct {
	levels, output, group, namespace, image string
	build, push, together                   bool
}

func newOperator(env environment, engine *engineFlags) *cobra.Command {
	var f operatorFlags
	cmd := &cobra.Command{
		Use:                   "operator [OPTIONS]",
		Short:                 "Write manifests of the operator for a plant's levels",
		Long:                  operatorHelp,
		Example:               operatorExamples,
		Args:                  cli.Args(0, 0),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return writeOperator(cmd.Context(), env, *engine, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.levels, "levels", "", "`NAMES` of the levels, highest first, as A,B; NAME:PLURAL if the plural is not NAMEs")
	flags.StringVarP(&f.output, "output-path", "o", "toskose-operator", "folder for the manifests")
	flags.StringVar(&f.group, "group", levels.LevelGroup, "API group of the levels")
	flags.StringVar(&f.namespace, "namespace", "plant", "namespace of applications that name none")
	flags.StringVar(&f.image, "image", "", "name of the operator's image (default toskose-operator:VERSION)")
	flags.BoolVar(&f.build, "build", false, "build the operator's image on the Docker engine")
	flags.BoolVarP(&f.push, "enable-push", "p", false, "build the operator's image and push it to its registry, which --image names")
	flags.BoolVar(&f.together, "together", false, "run all controllers in one Deployment")
	return cmd
}

func writeOperator(ctx context.Context, env environment, engine engineFlags, f operatorFlags) error {
	structure, err := levels.Parse(f.levels, f.group)
	if err != nil {
		return cli.Misuse(err)
	}
	if f.push && f.image == "" {
		return cli.Misuse(errors.New("--enable-push needs --image, which names the registry"))
	}
	f.image = cmp.Or(f.image, image.OperatorImage(built().version))
	files, err := manifests.Generate(manifests.Options{
		Structure: structure, Group: f.group, Namespace: f.namespace, Image: f.image, Together: f.together,
	})
	if err != nil {
		return cli.Misuse(err)
	}
	old, err := generatedFiles(f.output)
	if err != nil {
		return err
	}
	if f.build || f.push {
		if err := buildOperator(ctx, env, engine, f); err != nil {
			return err
		}
	}
	if err := writeManifests(f.output, files, old); err != nil {
		return fmt.Errorf("cannot write the manifests of the operator: %w", err)
	}
	fmt.Fprintf(engine.progress(env), "%s has the manifests of the operator with the image %s.\n\nNext:\n  kubectl apply -k %s\n", f.output, f.image, cli.Word(f.output))
	return nil
}

func buildOperator(ctx context.Context, env environment, engine engineFlags, f operatorFlags) error {
	docker, err := engine.connect()
	if err != nil {
		return err
	}
	defer docker.Close()
	builder, err := image.New(docker, image.Options{
		Version: built().version, Binaries: env.binaries, Keychain: authn.DefaultKeychain, Push: f.push,
		Progress: engine.progress(env), Debug: engine.debugging(env),
	})
	if err != nil {
		return err
	}
	return builder.BuildOperator(ctx, f.image)
}

// generatedFiles returns the files that an earlier run has written to a folder. A folder with other files is an error.
func generatedFiles(dir string) ([]string, error) {
	all, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(all) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the folder for the manifests: %w", err)
	}
	data, err := os.ReadFile(filepath.Join(dir, manifests.Kustomization))
	if err != nil || !bytes.HasPrefix(data, []byte(manifests.Header)) {
		return nil, fmt.Errorf("folder %q has other files: name a new one with -o", dir)
	}
	var k struct{ Resources []string }
	if err := yaml.Unmarshal(data, &k); err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", filepath.Join(dir, manifests.Kustomization), err)
	}
	return k.Resources, nil
}

// writeManifests writes files to a folder, and removes old ones that are no longer generated.
func writeManifests(dir string, files []manifests.File, old []string) error {
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as readable as the umask allows
			return err
		}
		if err := output.WriteFile(path, 0o644, f.Data); err != nil {
			return err
		}
	}
	for _, name := range old {
		isKept := func(f manifests.File) bool { return f.Name == name }
		if slices.ContainsFunc(files, isKept) || !filepath.IsLocal(filepath.FromSlash(name)) {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_ = os.Remove(filepath.Dir(path)) // fails while it has other files
	}
	return nil
}
