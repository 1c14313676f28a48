package manager_test

import (
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

// TestTheHistoryOfARemovedContainerOutlivesTheManager: the next manager has never seen the container.
func TestTheHistoryOfARemovedContainerOutlivesTheManager(t *testing.T) {
	t.Parallel()
	u, lasting := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started", Stdout: "up"}), fakeunit.Backend("i3", nil, fakeunit.End{Target: "started"})
	found := fakeunit.Containers{"backend": {u.Start(t, configured), lasting.Start(t, configured)}}
	opts := manager.Options{Exchange: 10 * time.Millisecond, SecretKey: func() ([]byte, error) { return []byte("key\n"), nil }}
	first := application(t, found, opts)
	if _, err := run(t, first, startAPI); err != nil {
		t.Fatal(err)
	}
	u.Replace("i2", configured)
	await(t, "the units store the document", func() bool {
		d, err := lasting.Document(wire.RemovedDocument)
		return err == nil && len(d.Content) > 0
	})
	first.Close()

	next := application(t, found, opts)
	await(t, "the next manager has the run of the removed container", func() bool {
		page, err := next.History(t.Context(), rest.HistoryQuery{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range page.Executions {
			for _, r := range x.Runs {
				if r.Instance == "i1" && !r.Removed.IsZero() {
					return true
				}
			}
		}
		return false
	})
}
