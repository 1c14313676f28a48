package leak

import (
	"strings"
	"testing"
)

func TestAGoroutineThatStaysIsFoundAndOneThatEndsIsNot(t *testing.T) {
	stay := make(chan struct{})
	go func() { <-stay }()
	if err := find(0); err == nil || !strings.Contains(err.Error(), "TestAGoroutineThatStays") {
		t.Errorf("of one that stays is found: %v", err)
	}
	close(stay)
	None(t)
}
