package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
)

func newConfig(env environment) *cobra.Command {
	var inputs inputFlags
	cmd := &cobra.Command{
		Use:   "config [OPTIONS] CSAR_PATH [CONFIG_PATH]",
		Short: "Print the toskose.yml of an application with all defaults",
		Long: `Print the complete configuration of an application: the settings in CONFIG_PATH, and
the defaults of all others. Passwords and keys are not printed. Every mistake in
CONFIG_PATH is reported with its line and column.`,
		Example:               "  toskose config thinking.csar >toskose.yml\n  toskose config thinking.csar toskose.yml",
		Args:                  cli.Args(1, 2),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return printConfig(cmd.Context(), env, inputs, args)
		},
	}
	inputs.register(cmd)
	return cmd
}

func printConfig(ctx context.Context, env environment, inputs inputFlags, args []string) error {
	opts, err := inputs.options()
	if err != nil {
		return err
	}
	archive, err := csar.Open(args[0])
	if err != nil {
		return err
	}
	defer archive.Close()
	applyConfigs(&opts, args[1:])
	app, _, err := tosca.Load(ctx, archive, opts)
	if err != nil {
		return err
	}
	target := packager.TargetOf(app)
	cfg, err := readConfig(args[1:], &target)
	if err != nil {
		return err
	}
	text, err := config.Encode(config.Complete(cfg, target))
	if err != nil {
		return err
	}
	_, err = env.streams().Out.Write(text)
	return err
}

// readConfig reads the toskose.yml that a command line names, if any.
func readConfig(paths []string, target *config.Target) (cfg config.Config, err error) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // it would be empty the second time
			return config.Config{}, fmt.Errorf("cannot read the configuration: %q is not a regular file, and it is read twice", path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return config.Config{}, fmt.Errorf("cannot read the configuration: %w", err)
		}
		if cfg, err = config.Decode(path, data, target); err != nil {
			return config.Config{}, err
		}
	}
	return cfg, nil
}

// mostOfAFile is the maximum size of a file that a configuration names.
const mostOfAFile = 1 << 20

// beside reads the files that a configuration names, with paths relative to the configuration.
func beside(configs []string) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		for _, path := range configs {
			if !filepath.IsAbs(name) {
				name = filepath.Join(filepath.Dir(path), name)
			}
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, mostOfAFile+1))
		if err == nil && len(data) > mostOfAFile {
			err = fmt.Errorf("%s is longer than %d bytes", name, mostOfAFile)
		}
		return data, err
	}
}

// applyConfigs sets the options for loading a document according to the configurations: their base images,
// and no warnings about operations that they configure. Errors in a configuration are reported
// later, when the application is known.
func applyConfigs(opts *tosca.Options, paths []string) {
	cfg, err := readConfig(paths, nil)
	if err != nil {
		return
	}
	opts.Hosts, opts.Operations = map[string]string{}, map[string][]string{}
	decided := func(components map[string]config.Component) {
		for name, c := range components {
			for operation := range c.Operations {
				opts.Operations[name] = append(opts.Operations[name], operation)
			}
		}
	}
	decided(cfg.Components)
	for name, n := range cfg.Nodes {
		if image, err := n.Docker.Base(""); err == nil && image != "" {
			opts.Hosts[name] = image
		}
		decided(n.Components)
	}
}
