package live

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/manager/client"
)

func newRestart(s *session) *cobra.Command {
	var replica string
	cmd := &cobra.Command{
		Use:   "restart COMPONENT...",
		Short: "Stop and start components of a running application",
		Long: `Stop components and start them again, one after the other, on all replicas or on
one. A stopped component is only started. Dependents keep running, and the component
is not put on hold.`,
		Example: "  toskose restart --dir thinking-toskosed api\n  toskose restart --dir thinking-toskosed api gui",
		Args:    cli.Args(1, math.MaxInt),
		RunE: func(cmd *cobra.Command, names []string) error {
			return s.Ask(func(c *client.Client) error {
				app, err := c.App(cmd.Context())
				if err != nil {
					return err
				}
				components := make([]client.Component, 0, len(names))
				for _, name := range names { // check all names before the first operation
					of, err := component(app, name)
					if err != nil {
						return err
					}
					components = append(components, of)
				}
				for _, of := range components {
					if err := s.restart(cmd.Context(), c, of, replica); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	s.Register(cmd)
	cmd.ValidArgsFunction = s.completion(componentNames)
	cmd.Flags().StringVar(&replica, "replica", "", "the replica to restart them on, by `ADDRESS` or instance (default all)")
	_ = cmd.RegisterFlagCompletionFunc("replica", s.completion(replicaNames)) // the flag is there
	return cmd
}

func (s *session) restart(ctx context.Context, c *client.Client, of client.Component, replica string) error {
	before, err := c.Goal(ctx)
	if err != nil {
		return err
	}
	operations := []string{"stop", "start"}
	if onlyStarts(of, replica) {
		operations = operations[1:]
	}
	for _, operation := range operations {
		x, err := s.execute(ctx, c, client.RunRequest{Node: of.Node, Component: of.Name, Operation: operation, Replica: replica})
		if err != nil {
			return err
		}
		if err := failure(x); err != nil {
			s.printOutput(x)
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
