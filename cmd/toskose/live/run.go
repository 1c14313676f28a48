package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/suggest"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/manager/client"
)

const runHelp = `Run an operation of a component of a running application, on all of its replicas
or on one, and wait for its end. OPERATION is INTERFACE.OPERATION, or the bare name
if only one interface has it. The end of its output is printed to standard output,
and the result on each replica to standard error. An interrupt does not end the
operation.

The exit code is 0 if it has succeeded on all replicas. Otherwise it is the exit
code of the operation on the first replica where it failed, or 1 if there is none,
because it was not allowed, was ended by a signal or its time limit, or the replica
cannot be reached.

Without OPERATION, COMPONENT is a task: its completion becomes part of the goal,
failed indexes are retried, and the command follows it. With --again, all indexes
run again. The exit code is then that of the first failed index: 124 if the
deadline or a time limit ended it, 128+n after signal n, or 1.`

func newRun(s *session) *cobra.Command {
	var req client.RunRequest
	var inputs []string
	var again bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "run COMPONENT [OPERATION]",
		Short: "Run an operation of a component and print its output, or run a task to completion",
		Long:  runHelp,
		Example: `  toskose run --dir thinking-toskosed api push_default
  toskose run --dir thinking-toskosed api api_interface.push_default --timeout 1m
  toskose run --dir thinking-toskosed api configure -i port=8081 --replica 10.0.1.7:9001
  toskose run --dir pipeline-toskosed migrate --again`,
		Args: cli.Args(1, 2),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := ofTask(cmd, len(args) == 1); err != nil {
				return err
			}
			if req.Inputs, err = overridden(inputs); err != nil {
				return err
			}
			req.Component = args[0]
			if len(args) == 2 {
				req.Operation = args[1]
			}
			return s.Ask(func(c *client.Client) error {
				app, err := c.App(cmd.Context())
				if err != nil {
					return err
				}
				of, err := component(app, req.Component)
				if err != nil {
					return err
				}
				if len(args) == 1 {
					return s.runTask(cmd.Context(), c, of, again)
				}
				req.Node, req.Timeout = of.Node, timeout.Seconds()
				x, err := s.execute(cmd.Context(), c, req)
				if err != nil {
					return err
				}
				if err := s.output.Show(s.streams.Out, x, func(io.Writer) { s.printOutput(x) }); err != nil {
					return err
				}
				return failure(x)
			})
		},
	}
	s.Register(cmd)
	s.output.Register(cmd)
	cmd.ValidArgsFunction = s.completion(componentNames, operationNames)
	cmd.Flags().StringVar(&req.Replica, "replica", "", "the replica to run it on, by `ADDRESS` or instance (default all)")
	cmd.Flags().StringArrayVarP(&inputs, "input", "i", nil, "override an input of the operation by `NAME=VALUE`, or by NAME=@FILE from a file; may be repeated")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "time limit (default: the operation's)")
	cmd.Flags().BoolVar(&again, "again", false, "run all indexes of a task again")
	cmd.Flags().BoolVar(&req.Force, "force", false, "run it even if requirements are not met")
	cmd.Flags().BoolVar(&req.Strict, "strict", false, "refuse it if it withdraws a capability that others require")
	_ = cmd.RegisterFlagCompletionFunc("replica", s.completion(replicaNames)) // the flag is there
	return cmd
}

// ofTask rejects flags for operations if a task is run, and flags for tasks if an operation is
// run.
func ofTask(cmd *cobra.Command, task bool) error {
	if !task && cmd.Flags().Changed("again") {
		return cli.Misuse(errors.New("--again is for a task, without an OPERATION"))
	}
	for _, name := range []string{"input", "replica", "timeout", "force", "strict"} {
		if task && cmd.Flags().Changed(name) {
			return cli.Misuse(fmt.Errorf("--%s is for an OPERATION, and none is given", name))
		}
	}
	return nil
}

// overridden returns the values of --input, all of which must be strings.
func overridden(pairs []string) (map[string]string, error) {
	given, err := cli.Inputs(pairs)
	if err != nil || len(given) == 0 {
		return nil, err
	}
	values := map[string]string{}
	for name, value := range given {
		values[name] = fmt.Sprintf("%s", value)
	}
	return values, nil
}

// component finds a component by its name.
func component(app client.App, name string) (client.Component, error) {
	for _, c := range app.Components {
		if c.Name == name {
			return c, nil
		}
	}
	for _, n := range app.Nodes {
		if slices.Contains(n.Job, name) {
			return client.Component{}, fmt.Errorf("component %q is run by its orchestrator: container %q is a job, which is %s", name, n.Name, n.State)
		}
	}
	return client.Component{}, UnknownComponent(app, name)
}

// UnknownComponent returns the error of a name that is not a component of an application.
func UnknownComponent(app client.App, name string) error {
	names := componentNames(app, nil)
	if near := suggest.Nearest(name, names); near != "" {
		return fmt.Errorf("%q is not a component of %q; did you mean %q?", name, app.Name, near)
	}
	return fmt.Errorf("%q is not a component of %q, which has %s", name, app.Name, strings.Join(names, ", "))
}

// execute runs an operation, and prints its result on each replica.
func (s *session) execute(ctx context.Context, c *client.Client, req client.RunRequest) (client.Execution, error) {
	said := map[string]bool{}
	x, err := c.Run(ctx, req, func(x client.Execution) {
		for _, r := range x.Runs {
			if r.Outcome != client.OutcomeRunning && !said[r.Replica] {
				said[r.Replica] = true
				s.say("%s:%s.%s on %s: %s", x.Component, x.Interface, x.Operation, r.Replica, sentence(r))
			}
		}
	})
	if err == nil {
		for _, l := range x.Degraded {
			s.say("%s loses %s of %s: it %s", l.Component, l.Requirement, l.Provider, l.Why)
		}
	}
	if errors.Is(err, context.Canceled) && x.ID != "" {
		return x, fmt.Errorf("execution %s continues: %w", x.ID, err)
	}
	return x, err
}

// sentence describes the result of an execution in a container.
func sentence(r client.Run) string {
	text := string(r.Outcome)
	switch {
	case r.ExitCode != nil && *r.ExitCode != 0:
		text += fmt.Sprintf(" with exit code %d", *r.ExitCode)
	case r.Signal != "":
		text += " by " + r.Signal
	}
	if r.Outcome == client.OutcomeSucceeded && r.From != r.To {
		text += ", " + r.From + " to " + r.To
	}
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	if !r.Ended.IsZero() && !r.Started.IsZero() { // a refused one never starts
		text += fmt.Sprintf(" (%s)", r.Ended.Sub(r.Started).Round(time.Millisecond))
	}
	return text
}

// printOutput prints the output of an operation, with a heading for each of several replicas.
func (s *session) printOutput(x client.Execution) {
	for _, r := range x.Runs {
		if len(x.Runs) > 1 && r.Stdout+r.Stderr != "" {
			fmt.Fprintf(s.streams.Out, "==> %s <==\n", r.Replica)
		}
		if r.Truncated {
			s.say("earlier output is left out: see toskose logs %s/%s.%s", x.Component, x.Interface, x.Operation)
		}
		fmt.Fprint(s.streams.Out, visible.Lines(r.Stdout))
		fmt.Fprint(s.streams.Err, visible.Lines(r.Stderr))
	}
}

// failure returns an error with the exit code of an execution that has not succeeded.
func failure(x client.Execution) error {
	if x.Outcome == client.OutcomeSucceeded {
		return nil
	}
	exit := cli.ExitError{Code: cli.ExitFailed, Err: fmt.Errorf("operation %s.%s of component %q: %s", x.Interface, x.Operation, x.Component, x.Outcome)}
	if i := slices.IndexFunc(x.Runs, func(r client.Run) bool { return r.Outcome == x.Outcome && r.ExitCode != nil && *r.ExitCode > 0 }); i >= 0 {
		exit.Code = *x.Runs[i].ExitCode
	}
	return exit
}
