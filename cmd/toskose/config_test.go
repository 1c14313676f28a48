package main

import (
	"os"
	"strings"
	"testing"
)

func TestAConfigurationThatCanBeReadOnceOnlyIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := readConfig([]string{os.DevNull}, nil); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("error %v", err)
	}
}
