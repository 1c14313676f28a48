//go:build kubernetes

package e2e

import (
	"fmt"
	"testing"
)

func TestAnUpgradeThatHangsIsRolledBackOnKubernetes(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	if err := bring("busybox:1.36"); err != nil {
		t.Fatal(err)
	}
	app := packageIt(t, engine, "testdata/commands", []string{pagesPort}, "--target", "kubernetes")
	claimed(t, app.name, "datavolume")
	app.goesOnCluster(t)
	forward(t, app.name, "service/box-public", fmt.Sprint(app.ports[pagesPort]))
	must(t, "", "toskose", "up", "--dir", app.dir, "--timeout", patience)
	rollsBackUpgrades(t, app, upgradesThatFail, func(string) { loaded(t, app) })
}
