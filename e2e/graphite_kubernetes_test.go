//go:build graphite && kubernetes

package e2e

import (
	"fmt"
	"testing"
)

// TestGraphiteOnKubernetes goes through the first half of what Graphite goes through by Compose.
func TestGraphiteOnKubernetes(t *testing.T) {
	app := packageGraphite(t, "--target", "kubernetes")
	claimed(t, app.name, "whisper")
	claimed(t, app.name, "database")
	app.goesOnCluster(t)
	forward(t, app.name, "service/web-public", fmt.Sprint(app.ports[webPort]))
	tellStory(t, app, firstHalf)
}
