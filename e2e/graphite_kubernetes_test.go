//go:build graphite && kubernetes

package e2e

import (
	"fmt"
	"testing"
)

// TestGraphiteOnKubernetes goes through the first half of Graphite's story: it has no engine that removes containers.
func TestGraphiteOnKubernetes(t *testing.T) {
	app := packageGraphite(t, "--target", "kubernetes")
	claimed(t, app.name, "whisper")
	claimed(t, app.name, "database")
	app.goesOnCluster(t)
	forward(t, app.name, "service/web-public", fmt.Sprint(app.ports[webPort]))
	for _, part := range []struct {
		name string
		tell func(*testing.T, *application)
	}{
		{"a metric that was sent is drawn", isServed},
		{"a killed component is started again, and the reason is shown", aComponentIsKilled},
		{"a component whose port is taken recovers when it is free, and the port is named until then", itsPortIsTaken},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.tell(t, app) }) {
			return
		}
	}
}
