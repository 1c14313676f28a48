package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/packager/output"
)

func TestDeployingIsShownToPeopleAndPrograms(t *testing.T) {
	t.Parallel()
	result := deploy.Result{Info: output.Info{App: "shop", Manager: output.Manager{User: "admin"}}, Address: "http://localhost:10000"}
	forwarded := result
	forwarded.Forward = "kubectl port-forward service/manager 10000"
	steps := func(opts deploy.Options) { fmt.Fprintf(opts.Progress, "shop: deploying\na: %s\n", opts.Dir) }
	ends := func(r deploy.Result) deployFunc {
		return func(_ context.Context, _ *client.Client, opts deploy.Options) (*deployment, error) {
			steps(opts)
			return newDeployment(opts, r), nil
		}
	}
	gone := func(_ context.Context, _ *client.Client, opts deploy.Options) (*deployment, error) {
		steps(opts)
		return &deployment{Kind: eventUndeployed, Path: opts.Dir}, nil
	}
	fails := func(_ context.Context, _ *client.Client, opts deploy.Options) (*deployment, error) {
		steps(opts)
		return nil, errors.New("it does\nnot answer")
	}
	const (
		said  = "shop: deploying\na: dir\n"
		lines = `{"event":"step","text":"shop: deploying"}` + "\n" + `{"event":"step","text":"a: dir"}` + "\n"
		login = "curl --netrc-file dir/secrets/netrc http://localhost:10000/api/v1/node/"
		where = `{"event":"deployed","application":"shop","path":"dir","address":"http://localhost:10000",`
		then  = `"next":["toskose up --dir dir","toskose ps --dir dir","` + login + `","toskose undeploy --target kubernetes --context there dir"]}` + "\n"
	)
	for name, test := range map[string]struct {
		progress, target string
		quiet            bool
		do               deployFunc
		want             string
	}{
		"people":            {progressAuto, deploy.Swarm, false, ends(result), said + "\nshop is running. Its manager is at http://localhost:10000, with the API's documentation under /docs.\n  toskose up --dir dir\n  toskose ps --dir dir\n  " + login + "\n  toskose undeploy --target swarm dir\n"},
		"people, forwarded": {progressPlain, deploy.Kubernetes, false, ends(forwarded), said + "\nshop is running. Its manager is at http://localhost:10000, with the API's documentation under /docs, while this command runs:\n  " + forwarded.Forward + "\nThen:\n  toskose up --dir dir\n  toskose ps --dir dir\n  " + login + "\n  toskose undeploy --target kubernetes --context there dir\n"},
		"people, gone":      {progressAuto, "", false, gone, said},
		"people, failed":    {progressAuto, "", false, fails, said},
		"programs":          {progressJSON, deploy.Kubernetes, false, ends(forwarded), lines + where + `"forward":"kubectl port-forward service/manager 10000",` + then},
		"programs, gone":    {progressJSON, "", false, gone, lines + `{"event":"undeployed","path":"dir"}` + "\n"},
		"programs, failed":  {progressJSON, "", false, fails, lines + `{"event":"error","text":"it does\nnot answer"}` + "\n"},
		"programs, quiet":   {progressJSON, "", true, gone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			flags := deployFlags{progress: test.progress, opts: deploy.Options{Target: test.target}}
			if test.target == deploy.Kubernetes {
				flags.opts.Context = "there"
			}
			err := flags.run(t.Context(), environment{out: &out, err: &out}, &engineFlags{quiet: test.quiet}, "dir", test.do)
			if failed := strings.HasSuffix(name, "failed"); failed != (err != nil) {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACommandThatPeopleCopyHasItsPathAsOneWord(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"out": "out", "a/b-c_1.x": "a/b-c_1.x", "/srv/für alle": "'/srv/für alle'", "$HOME": "'$HOME'",
		"it's": `'it'\''s'`, "-rf": "./-rf", "- x": "'./- x'",
	} {
		if got := cli.Word(path); got != want {
			t.Errorf("%q is %s, want %s", path, got, want)
		}
	}
}
