// Package rotate has the command that replaces the passwords and certificates of a running
// application. It starts no goroutines.
package rotate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/docker/client"
	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/cmd/toskose/live"
	"github.com/toskose/toskose/internal/visible"
	manager "github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/packager/rotate"
)

// Engine connects the command to an engine, by the global flags.
type Engine struct {
	Connect func() (*client.Client, error)
	Environ func() []string // of Docker's and Kubernetes' commands
}

// command is one call.
type command struct {
	streams cli.Streams
	engine  Engine
	quiet   *bool
	deploy  deploy.Options
	rotate  rotate.Options
	dry     bool

	components components // on a Swarm
}

// Command returns `toskose rotate`.
func Command(streams cli.Streams, engine Engine, quiet *bool) *cobra.Command {
	c := &command{streams: streams, engine: engine, quiet: quiet}
	cmd := &cobra.Command{
		Use:   "rotate [DIR | NAME]",
		Short: "Replace the passwords and certificates of a running application",
		Long: `Replace the passwords and certificates of the running application that was packaged
in DIR, or deployed under the NAME that ` + "`toskose ls`" + ` shows; by default, of the one
in the working directory or the current context. No request is refused meanwhile: the
new secret is accepted beside the old one, then used, and then the old one is revoked.
Each step runs once the manager and all units have confirmed the previous one. If the
command is interrupted, run it again to continue.

Without --passwords, --certificates and --authority, passwords and certificates are
replaced, and the certificate authority stays. Secrets that were not generated stay,
too: passwords in toskose.yml, users, the certificate of manager.tls, external
secrets.

Secrets of a Swarm are immutable: there, containers are replaced, first and last the
manager's, and in between those of one service after the other. Each is replaced when
no operation runs in it; requests wait meanwhile. Its components are created again by
the goal, for which the next service waits, or else by toskose up.`,
		Example: "  toskose rotate thinking-toskosed\n  toskose rotate --dry-run thinking-toskosed\n  toskose rotate --authority thinking-toskosed",
		Args:    cli.Args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.deploy.By, c.deploy.Command = cli.Identity(), cli.Line(cmd, args)
			return c.run(cmd.Context(), args)
		},
	}
	cli.StealLock(cmd, &c.deploy.StealLock)
	flags := cmd.Flags()
	flags.BoolVar(&c.rotate.Passwords, "passwords", false, "replace the passwords of units and of the manager's own user, and the key that signs tokens")
	flags.BoolVar(&c.rotate.Certificates, "certificates", false, "replace the certificates of units and of the manager")
	flags.BoolVar(&c.rotate.Authority, "authority", false, "replace the certificate authority, and all certificates")
	flags.BoolVar(&c.dry, "dry-run", false, "print what would be replaced")
	flags.BoolVar(&c.rotate.Offline, "offline", false, "only change the folder, of an application that is not running")
	flags.DurationVar(&c.rotate.Timeout, "timeout", 3*time.Minute, "how long to wait for the manager and all units to confirm a step")
	flags.StringVar(&c.deploy.Target, "target", "", "swarm, compose or kubernetes (default: as deploy chooses)")
	flags.StringVar(&c.deploy.Context, "context", "", "kubectl context of the cluster (default: the current one)")
	cmd.ValidArgsFunction = contexts.Completion(engine.Environ())
	return cmd
}

func (c *command) run(ctx context.Context, args []string) error {
	if err := c.deploy.Validate(); err != nil {
		return cli.Misuse(err)
	}
	if !c.rotate.Passwords && !c.rotate.Certificates && !c.rotate.Authority {
		c.rotate.Passwords, c.rotate.Certificates = true, true
	}
	dir, err := c.folder(args)
	if err != nil {
		return err
	}
	c.rotate.Dir, c.deploy.Dir = dir, dir
	if c.rotate.Offline {
		if c.rotate.Nodes, err = deploy.Nodes(dir); err != nil {
			return err
		}
		return c.replace(ctx)
	}
	docker, err := c.engine.Connect()
	if err != nil {
		return err
	}
	defer docker.Close()
	c.deploy.Environ, c.deploy.Progress = c.engine.Environ(), io.Discard
	c.deploy.Mounted = contexts.Mounted(c.deploy.Environ)
	running, err := deploy.Open(ctx, docker, c.deploy)
	if err != nil {
		return err
	}
	defer running.Close()
	if !c.dry {
		locked, release, err := running.Exclude(ctx, c.say)
		if err != nil {
			return err
		}
		defer release()
		ctx = locked
	}
	if err := running.Find(ctx); err != nil {
		return fmt.Errorf("%w (--offline changes the folder of an application that is not running)", err)
	}
	if running.OnSwarm() {
		c.components = components{running}
		c.rotate.Swarm, c.rotate.Components = swarm{running}, c.components
		if c.rotate.Jobs, err = (swarm{running}).jobs(ctx); err != nil {
			return err
		}
	}
	c.rotate.Nodes, c.rotate.Others, c.rotate.Publish = running.Info().Nodes, running.Folders(), running.Publish
	c.rotate.Ask = func(ctx context.Context) (rotate.State, error) { return ask(ctx, running) }
	return c.replace(ctx)
}

// folder returns the folder that the argument names, or else the folder of the context.
func (c *command) folder(args []string) (string, error) {
	dir := ""
	switch {
	case len(args) == 0:
		at, err := contexts.Folder(c.engine.Environ())
		if err != nil {
			return "", err
		}
		dir = at
	case deploy.Packaged(args[0]) || strings.ContainsAny(args[0], `/\`):
		dir = args[0]
	default:
		if dir = contexts.DeployedFrom(c.engine.Environ(), args[0]); dir == "" {
			return "", fmt.Errorf("%q was not packaged by toskose, and no application of that name was deployed from here: name its folder", args[0])
		}
	}
	return filepath.Abs(dir)
}

// replace replaces the secrets, or resumes an interrupted replacement.
func (c *command) replace(ctx context.Context) error {
	opts := c.rotate
	opts.Random, opts.Now, opts.Poll, opts.Say = rand.Reader, time.Now(), 100*time.Millisecond, c.say
	begun := rotate.Begun(opts.Dir)
	r, err := rotate.New(opts)
	if err != nil {
		return err
	}
	if !opts.Offline && !begun {
		state, err := opts.Ask(ctx)
		if err == nil {
			err = r.Check(state)
		}
		if err == nil && opts.Swarm != nil {
			err = c.components.can(ctx, opts.Nodes)
		}
		if err != nil {
			return fmt.Errorf("secrets cannot be replaced now: %w", err)
		}
	}
	if begun {
		c.say(fmt.Sprintf("continuing the rotation of %s", r.Begun.Format(time.RFC3339)))
	}
	plan, err := r.Plan(ctx)
	if err != nil {
		return err
	}
	for _, line := range append(r.Describe(), plan...) {
		c.say(line)
	}
	if c.dry && len(plan) > 0 {
		c.say("--dry-run: nothing was changed")
		return nil
	}
	if c.dry {
		c.say("--dry-run: nothing was changed, and no container would be replaced")
		return nil
	}
	if !begun {
		if err := r.Begin(); err != nil {
			return err
		}
	}
	if err := r.Run(ctx); err != nil {
		return err
	}
	c.say(fmt.Sprintf("done: %s has the new ones", opts.Dir))
	return nil
}

// say prints a message.
func (c *command) say(line string) {
	if !*c.quiet {
		fmt.Fprintln(c.streams.Out, visible.Lines(line))
	}
}

// ask queries the manager for the secrets in use by it and its units, with the credentials in the
// folder at that time.
func ask(ctx context.Context, running *deploy.Running) (rotate.State, error) {
	at, err := running.Access(ctx)
	if err != nil {
		return rotate.State{}, err
	}
	asking, err := live.ClientOf(at)
	if err != nil {
		return rotate.State{}, err
	}
	defer asking.Close()
	now, err := asking.Credentials(ctx)
	var problem *manager.Problem
	switch {
	case errors.As(err, &problem) && problem.Status == http.StatusNotFound:
		return rotate.State{}, fmt.Errorf("the manager is of an earlier version, which does not read all of them again: package the application again and deploy it first (%w)", err)
	case err != nil:
		return rotate.State{}, err
	}
	state := rotate.State{Manager: rotate.Manager(now.Manager)}
	for _, u := range now.Units {
		state.Units = append(state.Units, rotate.Unit(u))
	}
	return state, nil
}
