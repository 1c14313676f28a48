package deploy

import (
	"fmt"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
)

// Manager returns where the manager of the application that was packaged in a
// folder is, and who may ask it. On Kubernetes a port has to be forwarded to it.
func Manager(dir string) (address, user, password string, err error) {
	info, err := compose.ReadInfo(dir)
	if err != nil {
		cluster, other := kubernetes.ReadInfo(dir)
		if other != nil {
			return "", "", "", fmt.Errorf("no application was packaged in %q: %w", dir, err)
		}
		info = cluster.Info
	}
	password, err = output.ManagerPassword(dir)
	return fmt.Sprintf("http://localhost:%d", info.Manager.Port), info.Manager.User, password, err
}
