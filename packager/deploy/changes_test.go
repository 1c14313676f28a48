package deploy

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// TestItIsSaidFirstWhatIsReplaced for the target that it is deployed to, and nothing else.
func TestItIsSaidFirstWhatIsReplaced(t *testing.T) {
	t.Parallel()
	folder := func(place, order, limit string) string {
		dir := t.TempDir()
		text := output.Header + "services:\n" +
			"  placed:\n    image: box\n    deploy:\n      placement:\n        constraints: [" + place + "]\n" +
			"  ordered:\n    image: box\n    deploy:\n      update_config:\n        order: " + order + "\n" +
			"  limited:\n    image: box\n    deploy:\n      resources:\n        limits:\n          memory: " + limit + "\n" +
			"x-toskose:\n  app: shop\n  manager: {port: 10000}\n"
		for _, name := range []string{"docker-compose.yml", "docker-compose.local.yml"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	before, after := folder("node.labels.disk == ssd", "stop-first", "1g"), folder("node.labels.disk == hdd", "start-first", "2g")
	was, err := release.ID(before)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{
		Compose: "shop: release new replaces " + was + "; containers that are replaced, and start empty: limited, ordered, placed\n",
		Swarm: "shop: release new replaces " + was + "; containers that are replaced, and start empty: limited\n" +
			"shop: also replaced if their machines no longer satisfy the placement: placed\n",
	} {
		var said bytes.Buffer
		d := &deployer{Application: &backend.Application{Dir: after, Progress: &said, Log: release.Log{{Release: was, Folder: before}}}, kind: kind, release: "new"}
		d.Info.App = "shop"
		d.reportDifferences()
		if said.String() != want {
			t.Errorf("%s: it says\n%s\nwant\n%s", kind, said.String(), want)
		}
	}
}
