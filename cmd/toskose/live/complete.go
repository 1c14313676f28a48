package live

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/manager/client"
)

// completing is how long a shell waits for a manager.
const completing = 2 * time.Second

// names returns the proposals for the next argument after some arguments.
type names func(app client.App, args []string) []string

// completion completes each argument with names of the running application; the last
// function is for all further arguments.
func (m *Manager) completion(places ...names) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		return m.complete(cmd.Context(), places[min(len(args), len(places)-1)], args, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// complete returns the names with a prefix; none if no manager responds.
func (m *Manager) complete(ctx context.Context, of names, args []string, begun string) (all []string) {
	ctx, cancel := context.WithTimeout(ctx, completing)
	defer cancel()
	silent := *m
	silent.Say = nil
	_ = silent.Ask(func(c *client.Client) error { // a completion prints no errors
		app, err := c.App(ctx)
		if err == nil {
			all = of(app, args)
		}
		return err
	})
	all = slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, begun) || slices.Contains(args, name) })
	slices.Sort(all)
	return slices.Compact(all)
}

// CompleteComponents completes the first argument with the names of components.
func (m *Manager) CompleteComponents() cobra.CompletionFunc {
	none := func(client.App, []string) []string { return nil }
	return m.completion(componentNames, none)
}

func componentNames(app client.App, _ []string) []string {
	all := make([]string, 0, len(app.Components))
	for _, c := range app.Components {
		all = append(all, c.Name)
	}
	return all
}

func taskNames(app client.App, _ []string) []string {
	var all []string
	for _, c := range app.Components {
		if c.Task != nil {
			all = append(all, c.Name)
		}
	}
	return all
}

func allNames(app client.App, _ []string) []string {
	all := componentNames(app, nil)
	for _, n := range app.Nodes {
		all = append(all, n.Name)
	}
	return all
}

// operationNames are the operations of the component in the first argument.
func operationNames(app client.App, args []string) (all []string) {
	if len(args) != 1 {
		return nil
	}
	if of, err := component(app, args[0]); err == nil {
		for _, o := range of.Operations {
			all = append(all, o.Name)
		}
	}
	return all
}

// replicaNames are the addresses of the replicas of the component in the first argument.
func replicaNames(app client.App, args []string) (all []string) {
	for _, c := range app.Components {
		for _, r := range c.Replicas {
			if len(args) == 0 || c.Name == args[0] {
				all = append(all, r.Address)
			}
		}
	}
	return all
}

func assignable(app client.App, _ []string) []string {
	all := allNames(app, nil)
	for i := range all {
		all[i] += "="
	}
	return all
}
