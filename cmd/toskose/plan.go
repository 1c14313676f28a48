package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/cmd/toskose/live"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
	"github.com/toskose/toskose/tosca/diag"
)

// planFlags are the flags of planning.
type planFlags struct {
	goal, from, run []string
	down            bool
	check           string
	format          cli.Formats
	inputs          inputFlags
	limit           time.Duration
	opts            plan.Options
	manager         live.Manager
}

func newPlan(env environment, engine *engineFlags) *cobra.Command {
	flags := planFlags{manager: live.Manager{Environ: env.environ}}
	cmd := &cobra.Command{
		Use:                   "plan [OPTIONS] [FILE [CONFIG_PATH]]",
		DisableFlagsInUseLine: true,
		Short:                 "Compute the operations that lead an application to a goal",
		Long: `Compute the operations that lead an application to a goal, from the protocols of
its containers, components and volumes: as few operations as possible, in as few
levels as possible. The operations of a level can run at the same time. Without
--goal, the goal is that everything is up, starting from nothing; with --down,
that everything is deleted, starting from everything up. An element that --goal
does not name may end in any state. Up is the state that a start leads to or,
without a start, the first state with the capabilities that others require.
CONFIG_PATH is a toskose.yml, which can define the kinds of operations, and the states
in which operations without a transition are allowed.

With --check, check the steps of a plan one after the other, and explain the
first one that is not allowed.

Without FILE, the plan begins with the current state of the running application of
--dir or --context. Its manager computes the plan, and changes nothing; --goal may
name containers and groups, too.`,
		Example: `  toskose plan thinking.csar
  toskose plan --goal api=running -o dot thinking.csar
  toskose plan --down -o plan thinking.csar
  toskose plan --run api:api_interface.push_default thinking.csar
  toskose plan --check thinking.plan thinking.csar
  toskose plan --dir thinking-toskosed --goal gui=configured`,
		Args: cli.Args(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fits(cmd, args); err != nil {
				return cli.Misuse(err)
			}
			if len(args) == 0 {
				err := planLive(cmd.Context(), env, &flags)
				var missing *contexts.NotFoundError
				if errors.As(err, &missing) && !cmd.Flags().Changed("dir") && !cmd.Flags().Changed("context") {
					return cli.Misuse(errors.New("it needs a FILE, or --dir or --context of a running application"))
				}
				return err
			}
			return makeOrCheck(cmd.Context(), env, engine, flags, args)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.goal, "goal", nil, "state that an element must reach, as `COMPONENT=STATE`; may be repeated (default everything is up)")
	f.StringArrayVar(&flags.from, "from", nil, "state that an element is in now, as `COMPONENT=STATE`; may be repeated (default the initial one; with --down, up)")
	f.StringArrayVar(&flags.run, "run", nil, "operation that must run on the way, as `COMPONENT:INTERFACE.OPERATION`; may be repeated")
	f.BoolVar(&flags.down, "down", false, "the goal is that everything is deleted")
	f.StringVar(&flags.check, "check", "", "check `PLAN`, a TosKer .plan or .csv file, instead of computing one")
	flags.format.Register(cmd, slices.Insert(slices.Clone(plan.Formats), 2, "yaml")...)
	flags.inputs.register(cmd)
	f.IntVar(&flags.opts.MaxStates, "max-states", 200_000, "how many situations a search may visit")
	f.DurationVar(&flags.limit, "max-time", 30*time.Second, "how long to search")
	flags.manager.Register(cmd)
	return cmd
}

// fits checks that the flags match the argument: a FILE or a running application. The file must
// not be an output of `toskose package`.
func fits(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		if _, err := backend.AccessOf(args[0]); err == nil {
			return fmt.Errorf("%q is a packaged application: while it runs, `toskose plan --dir %s` plans for it", args[0], cli.Word(args[0]))
		}
	}
	only, is := []string{"dir", "context", "manager"}, "is for a running application, and goes without FILE"
	if len(args) == 0 {
		only, is = []string{"from", "run", "check", "input", "inputs", "max-states", "max-time"}, "goes with a FILE only"
	}
	for _, name := range only {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s %s", name, is)
		}
	}
	return nil
}

// planLive has the manager of a running application make a plan.
func planLive(ctx context.Context, env environment, flags *planFlags) error {
	if err := flags.validate(); err != nil {
		return cli.Misuse(err)
	}
	states, err := parseStates("--goal", flags.goal)
	if err != nil {
		return cli.Misuse(err)
	}
	state := ""
	switch {
	case flags.down:
		state = "down"
	case len(states) == 0:
		state = "up"
	}
	return flags.manager.Plan(ctx, env.streams(), state, states, flags.format.Value)
}

func makeOrCheck(ctx context.Context, env environment, engine *engineFlags, flags planFlags, paths []string) error {
	if err := flags.validate(); err != nil {
		return cli.Misuse(err)
	}
	app, err := loadToPlan(ctx, env, engine, &flags.inputs, paths[0], paths[1:])
	if err != nil {
		return err
	}
	problem, err := flags.problem(plan.Elements(app))
	if err != nil {
		return cli.Misuse(err)
	}
	if flags.check != "" {
		return checkPlan(env, flags, problem, app.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, flags.limit)
	defer cancel()
	made, err := plan.Make(ctx, problem, flags.opts)
	if err != nil {
		return err
	}
	out, err := live.FormatPlan(made, flags.format.Value, app.Name)
	if err != nil {
		return err
	}
	_, err = env.streams().Out.Write(out)
	return err
}

// validate checks the flags before anything is read.
func (f *planFlags) validate() error {
	switch {
	case f.limit <= 0 || f.opts.MaxStates <= 0:
		return errors.New("--max-time and --max-states must be above 0")
	case f.down && len(f.goal) > 0:
		return errors.New("--down and --goal exclude each other")
	case f.check != "" && f.format.Value != "text":
		return errors.New("-o goes without --check, which computes no plan")
	default:
		return nil
	}
}

// loadToPlan loads the application of a FILE with the operation settings of its configurations; it
// prints warnings.
func loadToPlan(ctx context.Context, env environment, engine *engineFlags, inputs *inputFlags, path string, configs []string) (*spec.Application, error) {
	opts, err := inputs.options()
	if err != nil {
		return nil, err
	}
	archive, err := csar.Open(path)
	if err != nil {
		var wrong diag.List
		if errors.As(err, &wrong) {
			return nil, err
		}
		return nil, cli.Unopened(err)
	}
	defer archive.Close()
	file := readConfig(configs)
	file.apply(&opts)
	names := fileNames(path, opts.InputFile)
	app, diagnostics, err := tosca.Load(ctx, archive, opts)
	if err != nil {
		return nil, errorWithNames(err, names)
	}
	if !engine.quiet && len(diagnostics) > 0 {
		fmt.Fprintln(env.streams().Err, withNames(diagnostics, names).Error())
	}
	target := packager.TargetOf(app)
	cfg, err := file.check(&target)
	return packager.Configured(app, cfg), err
}

// problem returns the planning problem that the flags describe.
func (f *planFlags) problem(elements []plan.Element) (plan.Problem, error) {
	p := plan.Problem{Elements: elements}
	from, err := parseStates("--from", f.from)
	if err != nil {
		return p, err
	}
	p.From = from
	switch {
	case f.down:
		p.Goal = plan.Down(elements)
		p.From, p.Notes = plan.Up(elements, from)
	case len(f.goal) > 0:
		if p.Goal, err = parseStates("--goal", f.goal); err != nil {
			return p, err
		}
	case f.check == "": // a checked plan need not reach a goal that no flag names
		p.Goal, p.Notes = plan.Up(elements, nil)
	}
	for _, text := range f.run {
		op, err := plan.ParseOperation(text)
		if err != nil {
			return p, fmt.Errorf("--run: %w", err)
		}
		p.Run = append(p.Run, op)
	}
	return p, plan.CheckProblem(p)
}

func parseStates(flag string, pairs []string) (map[string]string, error) {
	states := map[string]string{}
	for _, pair := range pairs {
		name, state, ok := strings.Cut(pair, "=")
		if !ok || name == "" || state == "" {
			return nil, fmt.Errorf("%s %q is not COMPONENT=STATE", flag, pair)
		}
		if _, twice := states[name]; twice {
			return nil, fmt.Errorf("%s names %q twice", flag, name)
		}
		states[name] = state
	}
	return states, nil
}

// checkPlan checks a plan in a file.
func checkPlan(env environment, flags planFlags, problem plan.Problem, app string) error {
	f, err := os.Open(flags.check)
	if err != nil {
		return cli.Unopened(fmt.Errorf("cannot read the plan: %w", err))
	}
	defer f.Close()
	operations, lines, err := plan.Read(f)
	if err != nil {
		return fmt.Errorf("%s is not a plan:\n%w", flags.check, err)
	}
	outcome, err := plan.Check(problem, operations)
	var refusal *plan.Refusal
	switch {
	case errors.As(err, &refusal):
		return fmt.Errorf("%s:%d: %w", flags.check, lines[refusal.Step-1], err)
	case err != nil:
		return err
	case len(outcome.Unmet) > 0:
		return fmt.Errorf("%s does not reach the goal:\n%s", flags.check, strings.Join(outcome.Unmet, "\n"))
	}
	_, err = env.streams().Out.Write(outcome.Text(app))
	return err
}
