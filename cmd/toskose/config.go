package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
	file := readConfig(settingsOf(args))
	file.apply(&opts)
	app, _, err := tosca.Load(ctx, archive, opts)
	if err != nil {
		return errorWithNames(err, fileNames(args[0], opts.InputFile))
	}
	target := packager.TargetOf(app)
	cfg, err := file.check(&target)
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

// configFile is the toskose.yml that a command line names, if any.
type configFile struct {
	parsed *config.File
	err    error // it cannot be read
}

// settingsName is the name of the configuration that a document has beside it.
const settingsName = "toskose.yml"

// settingsOf returns the configuration of a command with the arguments DOCUMENT [CONFIG_PATH]: the named one or, for a folder
// or a service template, the toskose.yml beside it.
func settingsOf(args []string) []string {
	if len(args) != 1 {
		return args[1:]
	}
	dir := args[0]
	info, err := os.Stat(dir)
	if err != nil {
		return nil // opening the document reports it
	}
	if !info.IsDir() {
		if !csar.IsYAML(dir) || filepath.Base(dir) == settingsName {
			return nil
		}
		dir = filepath.Dir(dir)
	}
	beside := filepath.Join(dir, settingsName)
	if info, err := os.Lstat(beside); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return []string{beside}
}

// checkFound refuses a configuration that was found beside a document, not named, if it reaches beyond the containers: the
// document may be from someone else.
func checkFound(args []string, cfg config.Config) error {
	keys := cfg.HostKeys()
	if found := settingsOf(args); len(args) == 1 && len(found) == 1 && len(keys) > 0 {
		return fmt.Errorf("%s has settings that reach beyond the containers: %s; to permit them, name the file: `toskose package %s %s`",
			found[0], strings.Join(keys, ", "), cli.Word(args[0]), cli.Word(found[0]))
	}
	return nil
}

// readConfig reads a toskose.yml. Problems are reported by check, when the application is known.
func readConfig(paths []string) configFile {
	var name string
	var data []byte
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return configFile{err: fmt.Errorf("cannot read the configuration: %w", err)}
		}
		name, data = path, text
	}
	return configFile{parsed: config.Parse(name, data)}
}

// check returns the configuration of an application.
func (f configFile) check(target *config.Target) (config.Config, error) {
	if f.err != nil {
		return config.Config{}, f.err
	}
	return f.parsed.Check(target)
}

// maxFile is the maximum size of a file that a configuration names.
const maxFile = 1 << 20

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
		data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
		if err == nil && len(data) > maxFile {
			err = fmt.Errorf("%s is longer than %d bytes", name, maxFile)
		}
		return data, err
	}
}

// apply sets the options for loading a document: the base images of the configuration, and no warnings about operations that it
// configures. A configuration with problems has no effect.
func (f configFile) apply(opts *tosca.Options) {
	cfg, err := f.check(nil)
	if err != nil {
		return
	}
	opts.Hosts, opts.Operations = map[string]string{}, map[string][]string{}
	configured := func(components map[string]config.Component) {
		for name, c := range components {
			for operation := range c.Operations {
				opts.Operations[name] = append(opts.Operations[name], operation)
			}
		}
	}
	configured(cfg.Components)
	for name, n := range cfg.Nodes {
		if image, err := n.Docker.Base(""); err == nil && image != "" {
			opts.Hosts[name] = image
		}
		configured(n.Components)
	}
}
