//go:build kubernetes

package e2e

import (
	"fmt"
	"testing"
)

// TestSecretsAreReplacedUnderThinkingOnKubernetes replaces passwords, certificates and their
// authority, which pods see when their kubelet has looked, while components are restarted.
func TestSecretsAreReplacedUnderThinkingOnKubernetes(t *testing.T) {
	t.Parallel()
	app := packageIt(t, dockerEngine(t), "../examples/thinking", thinkingsPorts, "--target", "kubernetes", "--tls")
	claimed(t, app.name, "dbvolume")
	app.goesOnCluster(t)
	must(t, "", "toskose", "up", "--dir", app.dir, "--timeout", patience)
	identities := func() string { return fmt.Sprint(pods(t, app.name)) }
	rotated(t, app, "gui", "backend-tls.crt", identities, app.there(app.name, "rotate", "--passwords", "--authority"))
	must(t, "", "toskose", "wait", "--dir", app.dir, "--timeout", patience)
}
