package backend

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
)

// Access is the address of a manager with the credentials of a user.
type Access struct {
	Address        string // http://HOST:PORT, or https
	User, Password string // the password is empty if it is an external secret
	PasswordFile   string // file that the password was read from and that may change; empty: the password is fixed
	Forward        string // the command that forwards the manager's port to that address; empty: not needed

	// How to verify the manager's certificate: PEM files. If empty, the system's authorities are used.
	Authority   string // certificate of the authority that signed the manager's certificate
	Certificate string // the manager's own certificate
	Name        string // host name that the certificate must have, instead of the host in Address

	// Credentials that are used in addition to or instead of a password; empty: none.
	ClientCertificate, ClientKey string // PEM files
	TokenFile                    string // file with a token that is used instead of a password
}

// Token reads the token from its file. The file may be updated before the token expires.
func (a Access) Token() (string, error) {
	text, err := os.ReadFile(a.TokenFile)
	if err != nil {
		return "", fmt.Errorf("cannot read the manager's token: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// PasswordNow reads the current password.
func (a Access) PasswordNow() (string, error) { return output.PasswordIn(a.PasswordFile) }

// Replacing reports whether the secrets of the folder are being replaced. Meanwhile, a Swarm also replaces the manager's
// container.
func (a Access) Replacing() bool {
	return a.PasswordFile != "" && output.IsRotating(filepath.Dir(filepath.Dir(a.PasswordFile)))
}

// ReadInfo reads the description of the application in an output folder. The namespace is set only if the folder was packaged
// for Kubernetes alone.
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

// AccessOf returns access to the manager of the application that was packaged in a folder.
func AccessOf(dir string) (Access, error) {
	info, namespace, err := ReadInfo(dir)
	if err != nil {
		return Access{}, err
	}
	password, err := output.ManagerPassword(dir)
	at := NewAccess(dir, info, LocalHost(info), password)
	if namespace != "" {
		at.Forward = command.Cluster{Namespace: namespace}.ForwardLine(info.Manager.Service, info.Manager.Port)
	}
	return at, err
}

// NewAccess returns access to the manager at HOST:PORT of a folder's application. The password is empty if it is an external secret.
func NewAccess(dir string, info output.Info, host, password string) Access {
	at := Access{Address: ManagerURL(info, host), User: info.Manager.User, Password: password}
	if password != "" {
		at.PasswordFile = output.ManagerPasswordFile(dir)
	}
	at.trust(dir, info)
	return at
}

// ManagerURL returns the URL of an application's manager at HOST:PORT.
func ManagerURL(info output.Info, host string) string { return info.Manager.Scheme() + "://" + host }

// LocalHost returns the manager's address on this machine: HOST:PORT.
func LocalHost(info output.Info) string {
	return net.JoinHostPort(info.Manager.Host(), strconv.Itoa(info.Manager.Port))
}
