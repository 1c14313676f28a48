package main_test

import (
	"os"
	"testing"

	"github.com/toskose/toskose/internal/testunit"
)

func TestTheUnitHasLessThanNineMillionBytes(t *testing.T) {
	t.Parallel()
	const most = 9_000_000
	info, err := os.Stat(testunit.Shipped(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() >= most {
		t.Errorf("it has %d", info.Size())
	}
}
