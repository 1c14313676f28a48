package deploy

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
)

// Access is where a manager is, and who may ask it.
type Access struct {
	Address        string // http://HOST:PORT, or https
	User, Password string // the password is empty where it is an external secret
	PasswordFile   string // that the password is from, which may change; empty: it does not
	Forward        string // the command that brings it to that address; empty: it is there

	// How the manager shows that it is this one: files in PEM; empty: as any server does.
	Authority   string // the certificate that signed the manager's
	Certificate string // the manager's own
	Name        string // that the certificate must have, in the place of that in Address

	// How the user shows who they are, besides a password; empty: not so.
	ClientCertificate, ClientKey string // files in PEM
	TokenFile                    string // with a token, in the place of a password
}

// Token reads the token: somebody may write another into its file before it ends.
func (a Access) Token() (string, error) {
	text, err := os.ReadFile(a.TokenFile)
	if err != nil {
		return "", fmt.Errorf("cannot read the manager's token: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// PasswordNow reads the password again.
func (a Access) PasswordNow() (string, error) { return output.PasswordIn(a.PasswordFile) }

// Replacing reports whether the secrets of its folder are being replaced right now, for which
// a Swarm replaces the manager, too.
func (a Access) Replacing() bool {
	return a.PasswordFile != "" && output.Beats(filepath.Dir(filepath.Dir(a.PasswordFile)))
}

// readInfo reads what an output folder is for. The namespace is empty where it is not for
// Kubernetes alone.
func readInfo(dir string) (info output.Info, namespace string, err error) {
	info, err = compose.ReadInfo(dir)
	if err == nil {
		return info, "", nil
	}
	cluster, other := kubernetes.ReadInfo(dir)
	if other != nil {
		return output.Info{}, "", fmt.Errorf("no application was packaged in %q: %w", dir, err)
	}
	return cluster.Info, cluster.Namespace, nil
}

// Manager returns where the manager of the application that was packaged in a
// folder is, and who may ask it.
func Manager(dir string) (Access, error) {
	info, namespace, err := readInfo(dir)
	if err != nil {
		return Access{}, err
	}
	forward := ""
	if namespace != "" {
		forward = fmt.Sprintf("kubectl --namespace %s port-forward service/%s %d", namespace, info.Manager.Service, info.Manager.Port)
	}
	password, err := output.ManagerPassword(dir)
	at := Access{Address: local(info), User: info.Manager.User, Password: password, PasswordFile: output.ManagerPasswordFile(dir), Forward: forward}
	at.trust(dir, info)
	return at, err
}

// local is where the manager is on this machine.
func local(info output.Info) string {
	return scheme(info) + net.JoinHostPort(info.Manager.Host(), strconv.Itoa(info.Manager.Port))
}

func (d *deployer) access(address, password string) Access {
	at := Access{Address: address, User: d.info.Manager.User, Password: password, Forward: d.where.forward}
	if password != "" {
		at.PasswordFile = output.ManagerPasswordFile(d.opts.Dir)
	}
	at.trust(d.opts.Dir, d.info)
	return at
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
