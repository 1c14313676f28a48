// Command toskose-operator runs the controllers of a plant's hierarchy on Kubernetes: of its levels, applications and components.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/toskose/toskose/operator/controller"
	"github.com/toskose/toskose/operator/levels"
	"github.com/toskose/toskose/operator/manifests"
)

var version = "dev" // set by -ldflags

const usage = `Usage: toskose-operator run CONTROLLER… [OPTIONS]

Run the controllers of a plant's hierarchy on Kubernetes. A CONTROLLER is the name of a
level, application or component.

  --structure A,B        levels, highest first; NAME:PLURAL if the plural is not NAMEs
  --group GROUP          API group of the levels (default levels.toskose.io)
  --namespace NAMESPACE  namespace of applications that name none (default plant)
  --kubeconfig FILE      cluster to use (default: the one that this pod runs on)
  --health ADDRESS       serves /healthz and /readyz (default :8081; 0: not at all)
  --metrics ADDRESS      serves /metrics (default :8080; 0: not at all)
  --version              print the version
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are the values of the flags.
type settings struct {
	structure, group, namespace, kubeconfig string
	health, metrics                         string
	version                                 bool
}

// run runs the program and returns its exit code: 2 for a usage error.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	var s settings
	flags := flag.NewFlagSet("toskose-operator", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() { fmt.Fprint(errOut, usage) }
	flags.StringVar(&s.structure, "structure", "", "")
	flags.StringVar(&s.group, "group", levels.LevelGroup, "")
	flags.StringVar(&s.namespace, "namespace", "plant", "")
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&s.health, "health", fmt.Sprintf(":%d", manifests.HealthPort), "")
	flags.StringVar(&s.metrics, "metrics", fmt.Sprintf(":%d", manifests.MetricsPort), "")
	flags.BoolVar(&s.version, "version", false, "")
	words, err := parse(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case s.version:
		fmt.Fprintln(out, "toskose-operator", version)
		return 0
	case len(words) < 2 || words[0] != "run":
		flags.Usage()
		return 2
	}
	if err := serve(ctx, s, words[1:], errOut); err != nil {
		fmt.Fprintln(errOut, "toskose-operator:", strings.ReplaceAll(err.Error(), "\n", "\n  "))
		return 1
	}
	return 0
}

// parse reads flags before, between and after the other words, which it returns.
func parse(flags *flag.FlagSet, args []string) (words []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return words, nil
		}
		words, args = append(words, flags.Arg(0)), flags.Args()[1:]
	}
}

// serve checks the settings and runs the controllers.
func serve(ctx context.Context, s settings, controllers []string, errOut io.Writer) error {
	structure, err := levels.Parse(s.structure, s.group)
	if err != nil {
		return err
	}
	var problems []error
	for i, name := range controllers {
		if all := structure.Controllers(); !slices.Contains(all, name) {
			problems = append(problems, fmt.Errorf("controller %q is not one of %s", name, strings.Join(all, ", ")))
		} else if slices.Contains(controllers[:i], name) {
			problems = append(problems, fmt.Errorf("controller %q is given twice", name))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	cluster, err := clusterOf(s.kubeconfig)
	if err != nil {
		return err
	}
	return controller.Run(ctx, cluster, controller.Options{
		Structure: structure, Controllers: controllers, Namespace: s.namespace,
		HealthAddress: s.health, MetricsAddress: s.metrics, Log: slog.New(slog.NewJSONHandler(errOut, nil)),
	})
}

// clusterOf returns the access to a cluster: of a file, or of the pod that this process runs in.
func clusterOf(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("cannot read %q: %w", kubeconfig, err)
		}
		return c, nil
	}
	c, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("this process does not run in a pod: name a cluster with --kubeconfig")
	}
	return c, err
}
