package main

import (
	"bytes"
	"testing"
)

func TestMistakesAreReportedBeforeACluster(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		code int
		err  string
	}{
		"no command":     {nil, 2, usage},
		"no controller":  {[]string{"run"}, 2, usage},
		"other command":  {[]string{"start", "asset"}, 2, usage},
		"help":           {[]string{"--help"}, 0, usage},
		"bad structure":  {[]string{"run", "node", "--structure=node"}, 1, "toskose-operator: level \"node\": \"node\" is a name that Kubernetes has already\n  level \"node\": \"nodes\" is a name that Kubernetes has already\n"},
		"bad controller": {[]string{"run", "--structure", "asset", "asset", "robot", "asset"}, 1, "toskose-operator: controller \"robot\" is not one of asset, application, component\n  controller \"asset\" is given twice\n"},
		"no cluster":     {[]string{"run", "component"}, 1, "toskose-operator: this process does not run in a pod: name a cluster with --kubeconfig\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errOut bytes.Buffer
			if code := run(t.Context(), test.args, &out, &errOut); code != test.code || errOut.String() != test.err || out.Len() > 0 {
				t.Errorf("exit code %d, output %q, error %q; want %d, %q", code, out.String(), errOut.String(), test.code, test.err)
			}
		})
	}
}

func TestItPrintsItsVersion(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"--version"}, &out, &errOut); code != 0 || out.String() != "toskose-operator dev\n" {
		t.Errorf("exit code %d, output %q, error %q", code, out.String(), errOut.String())
	}
}
