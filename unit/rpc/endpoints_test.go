package rpc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEndpointsAreListed: testdata/endpoints.txt is what the test of authority goes through, in
// package manager.
func TestEndpointsAreListed(t *testing.T) {
	t.Parallel()
	var all []string
	for _, r := range New(Options{Unit: newFake()}).(*server).routes {
		for method, h := range map[string]handler{"GET": r.get, "POST": r.post, "PUT": r.put, "DELETE": r.del} {
			if h != nil {
				all = append(all, method+" "+r.path)
			}
		}
	}
	slices.Sort(all)
	name := filepath.Join("testdata", "endpoints.txt")
	want, err := os.ReadFile(name)
	if got := strings.Join(all, "\n") + "\n"; err != nil || got != string(want) {
		t.Errorf("%s is not\n%s%v", name, got, err)
	}
}
