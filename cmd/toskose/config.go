package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
)

func newConfig(env environment) *cobra.Command {
	var inputs inputFlags
	cmd := &cobra.Command{
		Use:   "config [OPTIONS] CSAR_PATH [CONFIG_PATH]",
		Short: "Print the toskose.yml of an application, completed",
		Long: `Print the configuration that an application is packaged with: what CONFIG_PATH
says, and the default of all that it leaves open. Passwords and keys are left
out. Every mistake in CONFIG_PATH is reported with its line and column.`,
		Example:               "  toskose config thinking.csar >toskose.yml\n  toskose config thinking.csar toskose.yml",
		Args:                  args(1, 2),
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
	_, err = env.out.Write(text)
	return err
}

// readConfig reads the toskose.yml that a command line names, if any.
func readConfig(paths []string, target *config.Target) (cfg config.Config, err error) {
	for _, path := range paths {
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
