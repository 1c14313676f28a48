package deploy

import (
	"context"
	"fmt"
	"time"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
)

// Access is where a manager is, and who may ask it.
type Access struct {
	Address        string // http://HOST:PORT, or https
	User, Password string // the password is empty where it is an external secret
	Forward        string // the command that brings it to that address; empty: it is there
	Authority      string // the file with the certificate that signed the manager's; empty: none, or one that all know
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
	return Access{
		Address: local(info), User: info.Manager.User, Password: password, Forward: forward, Authority: authority(dir, info),
	}, err
}

// local is where the manager is on this machine.
func local(info output.Info) string {
	return fmt.Sprintf("%slocalhost:%d", scheme(info), info.Manager.Port)
}

func (d *deployer) access(address, password string) Access {
	return Access{Address: address, User: d.info.Manager.User, Password: password, Forward: d.where.forward, Authority: authority(d.opts.Dir, d.info)}
}

// finding is how long it may take to find the manager of the version that runs.
const finding = 20 * time.Second

// askBefore has the caller ask the manager that runs before, if there is a way to it.
func (d *deployer) askBefore(ctx context.Context, password string) {
	ctx, cancel := context.WithTimeout(ctx, finding)
	defer cancel()
	host, err := d.where.host(ctx)
	if err != nil {
		d.say("%s: the manager that runs cannot be asked: %v", d.info.App, err)
		return
	}
	d.opts.Before(ctx, d.access(scheme(d.info)+host, password))
}
