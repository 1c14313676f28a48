package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/manager/client"
)

func newRestart(s *session) *cobra.Command {
	var replica string
	var rolling bool
	cmd := &cobra.Command{
		Use:   "restart COMPONENT...",
		Short: "Stop and start components of a running application",
		Long: `Stop components and start them again, one after the other, on all replicas or on
one, or with --rolling on one replica after the other. A stopped component is only
started. Dependents keep running, and the component is not put on hold. NODE/GROUP:*
stands for all programs of a group of an attached container.

With -o json, each execution is an object on a line; with -o yaml, a document.`,
		Example: "  toskose restart --dir thinking-toskosed api\n  toskose restart --dir thinking-toskosed api gui --rolling",
		Args:    cli.Args(1, math.MaxInt),
		RunE: func(cmd *cobra.Command, names []string) error {
			if rolling && replica != "" {
				return cli.Misuse(errors.New("--rolling and --replica exclude each other"))
			}
			return s.Ask(func(c *client.Client) error {
				app, err := c.App(cmd.Context())
				if err != nil {
					return err
				}
				var components []client.Component
				for _, name := range names { // check all names before the first operation
					of, err := selected(app, name)
					if err != nil {
						return err
					}
					components = append(components, of...)
				}
				for _, of := range components {
					for _, replica := range batches(of, replica, rolling) {
						if err := s.restart(cmd.Context(), c, of, replica); err != nil {
							return err
						}
					}
				}
				return nil
			})
		},
	}
	s.Register(cmd)
	s.output.Register(cmd)
	cmd.ValidArgsFunction = s.completion(componentNames)
	cmd.Flags().StringVar(&replica, "replica", "", "the replica to restart them on, by `ADDRESS` or instance (default all)")
	cmd.Flags().BoolVar(&rolling, "rolling", false, "restart them on one replica after the other")
	_ = cmd.RegisterFlagCompletionFunc("replica", s.completion(replicaNames)) // the flag is there
	return cmd
}

// selected returns the component with a name, or the programs of a group: NODE/GROUP:*.
func selected(app client.App, name string) ([]client.Component, error) {
	if group, is := strings.CutSuffix(name, ":*"); is {
		var all []client.Component
		for _, c := range app.Components {
			if strings.HasPrefix(c.Name, group+":") {
				all = append(all, c)
			}
		}
		if all == nil {
			return nil, fmt.Errorf("%q has no program group %q", app.Name, group)
		}
		return all, nil
	}
	of, err := component(app, name)
	return []client.Component{of}, err
}

// batches returns the replicas on which a component is restarted, in their order; "" stands for all.
func batches(of client.Component, replica string, rolling bool) []string {
	if !rolling {
		return []string{replica}
	}
	var all []string
	for _, r := range of.Replicas {
		all = append(all, r.Address)
	}
	return all
}

// programRestart is the operation that restarts a program of an attached container.
const programRestart = "Program.restart"

func (s *session) restart(ctx context.Context, c *client.Client, of client.Component, replica string) error {
	before, err := c.Goal(ctx)
	if err != nil {
		return err
	}
	operations := []string{"stop", "start"}
	switch {
	case onlyStarts(of, replica):
		operations = operations[1:]
	case slices.ContainsFunc(of.Operations, func(o client.Operation) bool { return o.Name == programRestart }):
		operations = []string{programRestart}
	}
	for _, operation := range operations {
		x, err := s.execute(ctx, c, client.RunRequest{Node: of.Node, Component: of.Name, Operation: operation, Replica: replica})
		if err != nil {
			return err
		}
		if s.output.ForPrograms() {
			if err := s.output.ShowNext(s.streams.Out, x); err != nil {
				return err
			}
		}
		if err := failure(x); err != nil {
			if !s.output.ForPrograms() {
				s.printOutput(x)
			}
			return err
		}
	}
	return release(ctx, c, of.Name, before)
}

// onlyStarts reports whether a component can be started but not stopped.
func onlyStarts(of client.Component, replica string) bool {
	allows := func(allowed []string, operation string) bool {
		return slices.ContainsFunc(allowed, func(name string) bool { return strings.HasSuffix(name, "."+operation) })
	}
	allowed := of.Allowed
	for _, r := range of.Replicas {
		if replica != "" && (r.Address == replica || r.Instance == replica) {
			allowed = r.Allowed
		}
	}
	return allows(allowed, "start") && !allows(allowed, "stop")
}

// Release ends the hold that a stop placed on a component, unless it was on hold before.
func Release(ctx context.Context, c *client.Client, name string, before client.Goal) error {
	return release(ctx, c, name, before)
}

// release ends the hold that the stop of a restart placed on a component. A start does not end the
// hold if another replica has not reached the goal.
func release(ctx context.Context, c *client.Client, name string, before client.Goal) error {
	if _, was := before.Holds[name]; was {
		return nil
	}
	now, err := c.Goal(ctx)
	if _, is := now.Holds[name]; err != nil || !is {
		return err
	}
	_, _, failed := c.ResumeGoal(ctx, []string{name})
	now, err = c.Goal(ctx)
	if _, is := now.Holds[name]; err == nil && !is {
		return nil // another client ended it
	}
	return errors.Join(failed, err)
}
