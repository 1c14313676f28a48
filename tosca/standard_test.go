package tosca_test

import (
	"path/filepath"
	"testing"

	"github.com/toskose/toskose/tosca"
)

// The documents in testdata/standard have none of TosKer's types: they are
// looked at as `toskose validate` does.
func TestDocumentsThatTheStandardAllowsAreValid(t *testing.T) {
	t.Parallel()
	cases(t, filepath.Join("standard", "valid"), func(t *testing.T, c *testCase) {
		opts := c.options()
		opts.Draft = true
		_, list, err := tosca.Load(t.Context(), c.archive, opts)
		if err != nil {
			t.Errorf("refused:\n%v", err)
		}
		c.expect(t, list)
	})
}

func TestDocumentsThatTheStandardForbidsAreNotValid(t *testing.T) {
	t.Parallel()
	cases(t, filepath.Join("standard", "invalid"), func(t *testing.T, c *testCase) {
		opts := c.options()
		opts.Draft = true
		app, list, err := tosca.Load(t.Context(), c.archive, opts)
		if err == nil || app != nil {
			t.Error("accepted")
		}
		c.expect(t, list)
	})
}
