package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/volumes"
)

// where are the flags that say where an application's volumes are.
type where struct{ target, context, namespace string }

func (f *where) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.target, "target", "", "swarm, compose or kubernetes (default: where they are)")
	cmd.Flags().StringVar(&f.context, "context", "", "kubectl context of the cluster (default: the current one)")
	cmd.Flags().StringVar(&f.namespace, "namespace", "", "namespace of an application on Kubernetes that is named (default: the one that has its volumes)")
	_ = cmd.RegisterFlagCompletionFunc("target", cobra.FixedCompletions([]string{deploy.Swarm, deploy.Compose, deploy.Kubernetes}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

// place is where an application's volumes are.
type place struct {
	volumes.Place
	app, dir  string // the folder is empty if it is unknown
	name      string // for display
	onCluster bool
	unasked   bool // no access to the manager is known
	locks     func(context.Context) ([]lock.Store, error)
}

// at calls a function with the place of an application's volumes.
func (s *session) at(ctx context.Context, arg string, f func(place) error) error {
	if err := (deploy.Options{Target: s.where.target, Context: s.where.context, Space: s.where.namespace}).Validate(); err != nil {
		return cli.Misuse(err)
	}
	p := place{app: arg, dir: contexts.DeployedFrom(s.environ, arg)}
	if info, err := os.Stat(arg); err == nil && info.IsDir() && deploy.Packaged(arg) {
		if p.app, err = deploy.Name(arg); err != nil {
			return err
		}
		p.dir = arg
		namespace, err := deploy.NamespaceOf(arg, s.where.target)
		if err != nil {
			return err
		}
		if namespace != "" {
			return f(s.inNamespace(p, namespace))
		}
		return s.onEngine(p, f)
	} else if strings.ContainsAny(arg, `/\`) {
		return fmt.Errorf("%q was not packaged by toskose", arg)
	}
	namespace, err := s.find(ctx, arg)
	if err != nil {
		return err
	}
	if namespace != "" {
		return f(s.inNamespace(p, namespace))
	}
	return s.onEngine(p, f)
}

func (s *session) onEngine(p place, f func(place) error) error {
	docker, err := s.connect()
	if err != nil {
		return err
	}
	defer docker.Close()
	p.Place, p.name = volumes.OnEngine(docker, p.app, p.dir), "on the engine"
	p.locks = locksOnEngine(docker, p.app)
	return f(p)
}

func (s *session) cluster() command.Cluster {
	return command.Cluster{Context: s.where.context, Environ: s.environ}
}

// inNamespace is a place on the cluster. A folder of that name may be of another namespace.
func (s *session) inNamespace(p place, namespace string) place {
	if its, err := deploy.NamespaceOf(p.dir, deploy.Kubernetes); p.dir != "" && (err != nil || its != namespace) {
		p.dir, p.unasked = "", true
	}
	p.locks = func(context.Context) ([]lock.Store, error) {
		in := s.cluster()
		in.Namespace = namespace
		return []lock.Store{lock.OnCluster(in, p.app, nil)}, nil
	}
	p.Place, p.name, p.onCluster = volumes.OnCluster(s.cluster(), p.app, namespace, p.dir), fmt.Sprintf("in namespace %q", namespace), true
	return p
}

// answering is how long a cluster may take that was not asked for.
const answering = 10 * time.Second

// find returns the namespace with the volumes of an application, or "" if the engine has them or
// none exist.
func (s *session) find(ctx context.Context, app string) (string, error) {
	if s.where.namespace != "" {
		return s.where.namespace, nil
	}
	asked := s.where.target == deploy.Kubernetes || s.where.context != ""
	if !asked && (s.where.target != "" || !s.cluster().Configured(ctx)) {
		return "", nil
	}
	looking, cancel := context.WithTimeoutCause(ctx, answering, fmt.Errorf("no answer in %s", answering))
	defer cancel()
	namespaces, err := volumes.Namespaces(looking, s.cluster(), app)
	if err != nil {
		err = fmt.Errorf("cannot find the volumes of %q on the cluster: %w", app, err)
	}
	switch {
	case len(namespaces) > 1:
		return "", fmt.Errorf("namespaces %s have volumes of an application %q: name one with --namespace", strings.Join(namespaces, ", "), app)
	case !asked:
		return s.choose(ctx, app, namespaces, err)
	case err != nil:
		return "", err
	case len(namespaces) == 0:
		return "", fmt.Errorf("no volume of an application %q is on the cluster: `toskose ls` lists the applications, and where they run", app)
	}
	return namespaces[0], nil
}

// choose chooses between the engine and the cluster if the user named neither.
func (s *session) choose(ctx context.Context, app string, namespaces []string, unknown error) (string, error) {
	var here []volumes.Volume
	failed := s.onEngine(place{app: app}, func(p place) (err error) {
		here, err = p.List(ctx)
		return err
	})
	switch {
	case len(here) > 0 && len(namespaces) > 0:
		return "", fmt.Errorf("an application %q has volumes on the engine and in namespace %q: name one with --target, or its folder", app, namespaces[0])
	case len(namespaces) > 0:
		return namespaces[0], nil
	case len(here) == 0 && unknown != nil:
		return "", errors.Join(unknown, failed)
	}
	return "", failed
}
