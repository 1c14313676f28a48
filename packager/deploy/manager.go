package deploy

import (
	"fmt"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
)

// Access is where a manager is, and who may ask it.
type Access struct {
	Address        string // http://HOST:PORT
	User, Password string
	Forward        string // the command that brings it to that address; empty: it is there
}

// Manager returns where the manager of the application that was packaged in a
// folder is, and who may ask it.
func Manager(dir string) (Access, error) {
	info, err := compose.ReadInfo(dir)
	forward := ""
	if err != nil {
		cluster, other := kubernetes.ReadInfo(dir)
		if other != nil {
			return Access{}, fmt.Errorf("no application was packaged in %q: %w", dir, err)
		}
		info = cluster.Info
		forward = fmt.Sprintf("kubectl --namespace %s port-forward service/%s %d", cluster.Namespace, info.Manager.Service, info.Manager.Port)
	}
	password, err := output.ManagerPassword(dir)
	return Access{fmt.Sprintf("http://localhost:%d", info.Manager.Port), info.Manager.User, password, forward}, err
}
