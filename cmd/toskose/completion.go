package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/kubernetes"
)

// flagValues are the values that shells suggest for a flag. If commands differ, the key starts
// with the command's name.
var flagValues = map[string][]string{
	"pull":          {image.PullMissing, image.PullAlways, image.PullNever},
	"base-images":   {image.Engine.String(), image.Registry.String(), image.LayoutPrefix},
	"output-images": {image.Engine.String(), image.Registry.String(), image.LayoutPrefix},
	"platform":      {"linux/amd64", "linux/arm64", "linux/arm/v7", "linux/386", "linux/ppc64le", "linux/riscv64", "linux/s390x"},
	"progress":      progressKinds,
	"target":        {targetSwarm, targetCompose, targetKubernetes, targetAll},
	"secrets":       {secretsGenerated, secretsExternal},
	"endpoint-mode": {compose.EndpointVIP, compose.EndpointDNSRR},
	"publish-mode":  {compose.PublishIngress, compose.PublishHost},
	"service-type":  {kubernetes.ServiceClusterIP, kubernetes.ServiceNodePort, kubernetes.ServiceLoadBalancer},
	"graph format":  {"svg", "dot", "mermaid"},
}

// completions sets the suggestions of shells for arguments and flags.
func completions(root *cobra.Command) {
	archive := func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return archives(begun)
		case len(args) == 1 && slices.Contains([]string{root.Name(), "package", "config"}, cmd.Name()):
			return []string{"yml", "yaml"}, cobra.ShellCompDirectiveFilterFileExt // the configuration
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	folder := func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, cmd := range append(root.Commands(), root) {
		switch cmd.Name() {
		case root.Name(), "package", "config", "validate", "inspect", "graph", "plan":
			cmd.ValidArgsFunction = archive
		case "deploy", "undeploy", "init", "release":
			cmd.ValidArgsFunction = folder
		}
		for name, values := range flagValues {
			only, flag, ok := strings.Cut(name, " ")
			if !ok {
				flag = name
			} else if only != cmd.Name() {
				continue
			}
			if cmd.Flags().Lookup(flag) != nil {
				_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails for a flag that is not
			}
		}
		for _, flag := range []string{"output-path", "contexts"} {
			_ = cmd.MarkFlagDirname(flag) // fails if the command does not have the flag
		}
		_ = cmd.MarkFlagFilename("inputs", "yaml", "yml", "json") // as above
	}
}

// archives proposes files that may be a CSAR, and folders. It lists them itself:
// shells propose either words or files, and commands may stand in the same place.
func archives(begun string) ([]string, cobra.ShellCompDirective) {
	dir, prefix := filepath.Split(begun)
	entries, err := os.ReadDir(filepath.Join(dir, "."))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, ".") && prefix == "" {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, name)) // follows links
		switch {
		case err != nil:
		case info.IsDir():
			all = append(all, dir+name+"/")
		case slices.Contains([]string{".csar", ".zip", ".tar", ".gz", ".tgz", ".yaml", ".yml"}, strings.ToLower(filepath.Ext(name))):
			all = append(all, dir+name)
		}
	}
	if len(all) == 1 && strings.HasSuffix(all[0], "/") {
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace // the argument is incomplete
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}
