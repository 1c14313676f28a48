// Package endpoint says where the manager of an application is, how it shows that it is that
// one, and who may ask it.
package endpoint

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubectl"
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
	return a.PasswordFile != "" && output.IsRotating(filepath.Dir(filepath.Dir(a.PasswordFile)))
}

// ReadInfo reads what an output folder is for. The namespace is empty where it is not for
// Kubernetes alone.
func ReadInfo(dir string) (info output.Info, namespace string, err error) {
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

// Of returns the access to the manager of the application that was packaged in a folder.
func Of(dir string) (Access, error) {
	info, namespace, err := ReadInfo(dir)
	if err != nil {
		return Access{}, err
	}
	password, err := output.ManagerPassword(dir)
	at := New(dir, info, Local(info), password)
	if namespace != "" {
		at.Forward = kubectl.Cluster{Namespace: namespace}.ForwardLine(info.Manager.Service, info.Manager.Port)
	}
	return at, err
}

// New returns the access to the manager at HOST:PORT of the application of a folder. The
// password is empty where it is an external secret.
func New(dir string, info output.Info, host, password string) Access {
	at := Access{Address: URL(info, host), User: info.Manager.User, Password: password}
	if password != "" {
		at.PasswordFile = output.ManagerPasswordFile(dir)
	}
	at.trust(dir, info)
	return at
}

// URL is where an application's manager is asked at HOST:PORT.
func URL(info output.Info, host string) string { return info.Manager.Scheme() + "://" + host }

// Local is the HOST:PORT where the manager is on this machine.
func Local(info output.Info) string {
	return net.JoinHostPort(info.Manager.Host(), strconv.Itoa(info.Manager.Port))
}
