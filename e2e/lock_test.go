package e2e

import "testing"

// TestASwarmKeepsALock runs the test of package lock that needs a swarm.
func TestASwarmKeepsALock(t *testing.T) {
	t.Parallel()
	joinSwarm(t, dockerEngine(t))
	must(t, "", found(t, "go"), "test", "-count=1", "-tags", "swarm", "-run", "^TestASwarmKeepsALock$", "../packager/lock")
}
