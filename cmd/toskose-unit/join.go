package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"syscall"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/rpc"
)

// envListen is the variable by which a unit joins an application although its configuration does
// not mention one. Its value is HOST:PORT or :PORT. The unit then serves its API there, beside the
// servers of the configuration, with the credentials in its environment. Everything else is as
// without the variable: neither the configuration nor the children see it or the other variables
// of the unit.
const envListen = "TOSKOSE_UNIT_LISTEN"

// Variables with the TLS files of the server at envListen: those of the toskose_tls_ keys.
const (
	envTLSCert     = "TOSKOSE_UNIT_TLS_CERT"
	envTLSKey      = "TOSKOSE_UNIT_TLS_KEY"
	envTLSClientCA = "TOSKOSE_UNIT_TLS_CLIENT_CA"
)

// defaultUser is the user of the server at envListen if SUPERVISORD_USER is not set.
const defaultUser = "admin"

// joins reports whether the unit joins an application by its environment.
func (s system) joins() bool { return s.env[envListen] != "" }

// visibleEnv returns the environment that the configuration can refer to: without the variables of
// a unit that joins by its environment, as supervisord would see it.
func (s system) visibleEnv() map[string]string {
	if !s.joins() {
		return s.env
	}
	return unit.WithoutOwn(s.env)
}

// ignoreAsPython makes programs of a unit that joins ignore the signals that Python ignores, as
// supervisord's programs do: one that writes to a closed connection gets an error, and does not end.
func (s system) ignoreAsPython() {
	if s.joins() {
		signal.Ignore(syscall.SIGPIPE, syscall.SIGXFSZ)
	}
}

// joinTLS returns the TLS files of the server at envListen; nil: plain HTTP.
func (s system) joinTLS() (*rpc.TLSFiles, error) {
	files := rpc.TLSFiles{Cert: s.env[envTLSCert], Key: s.env[envTLSKey], ClientCA: s.env[envTLSClientCA]}
	switch {
	case files == rpc.TLSFiles{}:
		return nil, nil
	case files.Cert == "" || files.Key == "":
		return nil, fmt.Errorf("TLS requires %s and %s: set both or neither", envTLSCert, envTLSKey)
	}
	return &files, nil
}

// joinEndpoint returns the address at which the unit reaches its own server at envListen.
func (s system) joinEndpoint() (endpoint, error) {
	host, port, err := net.SplitHostPort(s.env[envListen])
	if err != nil {
		return endpoint{}, fmt.Errorf("%s=%s is not HOST:PORT or :PORT", envListen, s.env[envListen])
	}
	at := endpoint{network: "tcp", address: net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)}
	files, err := s.joinTLS()
	if files != nil {
		tls := config.TLS(*files)
		at.tls = &tls
	}
	return at, err
}

// listenToJoin opens the server at envListen.
func listenToJoin(ctx context.Context, s system, logger *slog.Logger) (server, error) {
	joined, err := openToJoin(ctx, s, logger)
	if err != nil {
		return server{}, fmt.Errorf("%s=%s: %w", envListen, s.env[envListen], err)
	}
	return joined, nil
}

func openToJoin(ctx context.Context, s system, logger *slog.Logger) (server, error) {
	address := s.env[envListen]
	if _, _, err := net.SplitHostPort(address); err != nil {
		return server{}, errors.New("the value is not HOST:PORT or :PORT")
	}
	joined, err := credentials("", "", false, s.env)
	switch {
	case err != nil:
		return server{}, err
	case joined.password == "":
		return server{}, errors.New("the password of the API is missing; set SUPERVISORD_PASSWORD_FILE to a file that contains it")
	}
	if joined.user == "" {
		joined.user = defaultUser
	}
	if joined.files, err = s.joinTLS(); err != nil {
		return server{}, err
	}
	if joined.files != nil {
		if joined.tls, err = rpc.NewTLS(*joined.files, logger); err != nil {
			return server{}, err
		}
	}
	var listen net.ListenConfig
	joined.listener, err = listen.Listen(ctx, "tcp", address)
	return joined, err
}
