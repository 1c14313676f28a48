package kubernetes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
)

// Kubernetes mounts secrets as root's. What lets another user read them is a group.
func TestOnlyTheUserOfAUnitReadsItsSecrets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		image, number string // the user, as the image names it, and its number
		group         string
	}{
		{"", "0", ""}, {"app", "1000", "1000"}, {"1000", "1000", "1000"}, {"1000:2000", "1000", "2000"},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			t.Parallel()
			p := by(tt.image, plan(t, sample.App(), config.Config{}).WithSecretUsers(func(string) string { return tt.number }))
			files, err := kubernetes.Target(defaults())(p, output.Secrets{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				group := tt.group
				switch {
				case strings.HasSuffix(f.Name, "node-frontend.yaml"):
				case strings.HasSuffix(f.Name, "node-toskose-manager.yaml"):
					group = "65532"
				default:
					continue
				}
				text := string(f.Data)
				if !strings.Contains(text, "defaultMode: 0400\n") {
					t.Errorf("%s does not limit the mode:\n%s", f.Name, text)
				}
				if has := strings.Contains(text, "fsGroup: "+group+"\n"); group != "" && !has || group == "" && strings.Contains(text, "fsGroup") {
					t.Errorf("%s does not give them to the group %q:\n%s", f.Name, group, text)
				}
			}
		})
	}
}
