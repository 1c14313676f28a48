//go:build chaos

package e2e

import "testing"

// TestChaosOnComposeOfAttachedContainers kills, hangs and breaks the programs of attached containers, on an engine of their own.
func TestChaosOnComposeOfAttachedContainers(t *testing.T) {
	attachedProgramsRecover(t, attachedByCompose(t), "chaos-attached.md")
}
