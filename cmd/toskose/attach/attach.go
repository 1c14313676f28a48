// Package attach has the commands that make the containers of a Compose project manageable, and
// show how to restore them. It starts no goroutine.
package attach

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/docker/docker/client"
	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/packager/attach"
	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/image"
)

// Environment is the part of the process that the commands use.
type Environment struct {
	Streams   cli.Streams
	Environ   []string
	Binaries  []string // folders with the binaries of unit and manager
	Version   string
	Connect   func() (*client.Client, error)
	Inspector func(*client.Client, image.Place) *image.Inspector
	Quiet     *bool
}

// Commands returns `toskose attach` and `toskose detach`.
func Commands(env Environment) []*cobra.Command {
	return []*cobra.Command{newAttach(env), newDetach(env)}
}

const attachHelp = `Make the programs in the containers of a Compose project manageable, without another
image: toskose looks into the image of each service, and writes a second Compose file
for those that run supervisord. With this file, Compose mounts the unit over
supervisord and adds a manager; everything else of the services stays. Other services
become containers without components.

Compose files are read as Compose reads them; without one, Compose's default files.
Images are read on the engine or, if it does not have them, in their registries. The
second file is compose.toskose.yml beside the first Compose file; its own files, with
the generated passwords, are in the folder toskose beside it. A second run keeps the
passwords. Nothing is started or changed.

toskose.yml beside the first Compose file may set the goal, and requirements of programs:

  goal: up
  requires: {web/app: [db]}

With -k DIR, the same is done for the Deployments, StatefulSets and DaemonSets of a folder
with a kustomization.yaml: DIR-toskose is a kustomization on top of it, which copies the
unit into each pod and adds the manager. It needs kubectl.

The command makes a context for the manager, and selects it.`

type flags struct {
	opts    attach.Options
	cluster string // folder with a kustomization; empty: Compose
	images  string
	json    bool
}

func newAttach(env Environment) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:                   "attach [OPTIONS] [COMPOSE_FILE...]",
		Short:                 "Manage the containers of a Compose project as they are",
		Long:                  attachHelp,
		DisableFlagsInUseLine: true,
		Example: `  toskose attach
  toskose attach compose.yaml compose.prod.yaml
  toskose attach --service web --port 10001
  toskose attach -k deploy/prod --registry registry.example.org/team`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.opts.Files = args
			return f.run(cmd, env)
		},
	}
	cmd.ValidArgsFunction = composeFiles
	flags := cmd.Flags()
	flags.StringSliceVar(&f.opts.Profiles, "profile", nil, "active `PROFILE` of Compose; may be repeated")
	flags.StringSliceVar(&f.opts.Services, "service", nil, "attach only this `SERVICE`, even if its command does not name supervisord; may be repeated")
	flags.StringSliceVar(&f.opts.Exclude, "exclude", nil, "do not attach this `SERVICE`, and do not look into its image; may be repeated")
	flags.IntVar(&f.opts.Port, "port", attach.DefaultPort, "`PORT` of this machine at which the manager is published")
	flags.BoolVar(&f.opts.TLS, "tls", false, "TLS between clients, manager and units, with generated certificates")
	flags.StringVarP(&f.opts.Output, "output", "o", "", "the second Compose `FILE` (default compose.toskose.yml beside the first one); with -k, the folder to write (default DIR-toskose)")
	flags.StringVarP(&f.cluster, "kustomize", "k", "", "attach the workloads of the kustomization in `DIR`")
	flags.StringVar(&f.opts.Registry, "registry", "", "with -k: registry and path of the images toskose-unit and toskose-manager (default none)")
	_ = cmd.MarkFlagDirname("kustomize") // the flag is there
	flags.StringVar(&f.opts.Config, "config", "", "`FILE` with goal and requirements (default toskose.yml beside the first Compose file, if it exists)")
	flags.StringVar(&f.images, "images", "", "where images are: engine, registry or oci:DIR (default the engine, then registries)")
	flags.BoolVar(&f.json, "json", false, "print the findings as JSON")
	_ = cmd.RegisterFlagCompletionFunc("images", cobra.FixedCompletions([]string{image.Engine.String(), image.Registry.String(), image.LayoutPrefix}, cobra.ShellCompDirectiveNoSpace)) // the flag is there
	return cmd
}

// composeFiles makes shells suggest Compose files.
func composeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yml", "yaml"}, cobra.ShellCompDirectiveFilterFileExt
}

func (f *flags) run(cmd *cobra.Command, env Environment) error {
	if f.opts.Port < 1 || f.opts.Port > 65535 {
		return cli.Misuse(fmt.Errorf("--port %d is not a port", f.opts.Port))
	}
	if err := f.fits(); err != nil {
		return cli.Misuse(err)
	}
	var place image.Place
	var err error
	if f.images != "" {
		if place, err = image.ParsePlace(f.images); err != nil {
			return cli.Misuse(fmt.Errorf("--images %w", err))
		}
	}
	engine, err := env.Connect()
	if err != nil {
		return err
	}
	defer engine.Close()
	f.opts.Environ, f.opts.Binaries, f.opts.Version = env.Environ, env.Binaries, env.Version
	f.opts.Images, f.opts.Random, f.opts.Now = env.Inspector(engine, place), rand.Reader, time.Now()
	f.opts.Kustomize = func(ctx context.Context, dir string) ([]byte, error) {
		return command.Cluster{Environ: env.Environ}.Output(ctx, "kustomize", dir)
	}
	result, err := f.attach(cmd.Context())
	if err == nil {
		err = remember(env.Environ, result)
	}
	if result == nil || err != nil && !errors.Is(err, attach.ErrNothing) {
		return err
	}
	if f.json {
		return errors.Join(cli.WriteJSON(env.Streams.Out, result, "  "), err)
	}
	if !*env.Quiet {
		table(env.Streams.Out, result.Services)
		if err == nil {
			next(env.Streams.Out, result)
		}
	}
	return err
}

// fits checks that the flags match the attached files.
func (f *flags) fits() error {
	switch {
	case f.cluster == "" && f.opts.Registry != "":
		return errors.New("--registry is for -k: Compose builds the manager's image itself")
	case f.cluster != "" && len(f.opts.Files) > 0:
		return errors.New("-k attaches a kustomization, and takes no Compose files")
	case f.cluster != "" && len(f.opts.Profiles) > 0:
		return errors.New("--profile is for Compose files, and not for -k")
	}
	return nil
}

func (f *flags) attach(ctx context.Context) (*attach.Result, error) {
	if f.cluster != "" {
		return attach.Cluster(ctx, f.cluster, f.opts)
	}
	return attach.Compose(ctx, f.opts)
}

// remember makes a context of the manager, and selects it.
func remember(environ []string, r *attach.Result) error {
	store, err := contexts.Find(environ)
	if err != nil {
		return err
	}
	c := contexts.Context{Manager: r.Manager, User: "admin", PasswordFile: r.Password, CA: r.Authority}
	if r.Authority != "" {
		c.ServerName = attach.Manager
	}
	if err := store.Put(r.Project, c); err != nil {
		return err
	}
	return store.Use(r.Project)
}

func table(out io.Writer, findings []attach.Finding) {
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "SERVICE\tATTACHED\tSUPERVISORD\tPORT\tNOTES")
	for _, f := range findings {
		attached, port := "no", "-"
		if f.Attached {
			attached, port = "yes", strconv.Itoa(f.Port)
		}
		notes := cmp.Or(f.Reason, strings.Join(f.Notes, "; "), "-")
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", visible.Text(f.Service), attached, visible.Text(cmp.Or(strings.Join(f.Supervisord, ", "), "-")), port, visible.Text(notes))
	}
	_ = t.Flush() // the reader may have closed the output
}

func next(out io.Writer, r *attach.Result) {
	if len(r.Files) == 0 {
		nextOnCluster(out, r)
		return
	}
	file := r.Files[len(r.Files)-1]
	fmt.Fprintf(out, "\n%s and the folder %s are written. Next:\n  %s\n  toskose ps\n", relative(file), relative(r.Folder),
		line(append(attach.ComposeCommand(r.Files...), "up", "-d")))
	fmt.Fprintf(out, "\nThe manager's page is %s/; the user is admin, and the password is in %s.\n`%s` shows how to restore the containers.\n",
		r.Manager, relative(r.Password), line([]string{"toskose", "detach", file}))
}

func nextOnCluster(out io.Writer, r *attach.Result) {
	fmt.Fprintf(out, "\nThe folder %s is written. Make its images available to the cluster, then apply it:\n", relative(r.Folder))
	for _, i := range r.Images {
		fmt.Fprintf(out, "  docker build -t %s %s\n", i.Image, cli.Word(relative(i.Folder)))
	}
	for _, i := range r.Images {
		if strings.Contains(i.Image, "/") {
			fmt.Fprintf(out, "  docker push %s\n", i.Image)
		}
	}
	space := ""
	if r.Namespace != "" {
		space = " --namespace " + cli.Word(r.Namespace)
	}
	port := r.Manager[strings.LastIndex(r.Manager, ":")+1:]
	fmt.Fprintf(out, "  kubectl apply -k %s\n  kubectl%s port-forward service/%s %s\n  toskose ps\n", cli.Word(relative(r.Folder)), space, attach.Manager, port)
	fmt.Fprintf(out, "\nThe user of the manager is admin, and the password is in %s.\n", relative(r.Password))
}

// relative returns a path relative to the working directory if it is in it.
func relative(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// line returns a command as people copy it.
func line(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		if filepath.IsAbs(word) {
			word = cli.Word(relative(word))
		}
		quoted[i] = word
	}
	return strings.Join(quoted, " ")
}
