package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/rpc"
	"github.com/toskose/toskose/unit/safepath"
	"github.com/toskose/toskose/unit/wire"
)

// server is a listener with its credentials.
type server struct {
	listener       net.Listener
	tls            *tls.Config // nil: plain HTTP
	files          *rpc.TLSFiles
	user, password string
	passwords      func() ([]byte, error) // reads the password file again; nil without a file
}

type servers []server

// listenAll opens every configured address, and the one at which the unit joins an application.
func listenAll(ctx context.Context, c *config.Config, sys system, logger *slog.Logger) (opened servers, err error) {
	defer func() {
		if err != nil {
			opened.close()
		}
	}()
	env := sys.visibleEnv()
	if sys.joins() {
		s, err := listenToJoin(ctx, sys, logger)
		if err != nil {
			return opened, err
		}
		opened = append(opened, s)
	}
	var listen net.ListenConfig
	for _, i := range c.Inet {
		s, err := credentials(i.Username, i.Password, i.AuthRequired, env)
		if err != nil {
			return opened, fmt.Errorf("[%s]: %w", i.Section, err)
		}
		if i.TLS != nil {
			files := rpc.TLSFiles(*i.TLS)
			s.files = &files
			if s.tls, err = rpc.NewTLS(files, logger); err != nil {
				return opened, fmt.Errorf("[%s]: %w", i.Section, err)
			}
		}
		if s.listener, err = listen.Listen(ctx, "tcp", net.JoinHostPort(i.Host, strconv.Itoa(i.Port))); err != nil {
			return opened, fmt.Errorf("[%s]: %w", i.Section, err)
		}
		opened = append(opened, s)
	}
	for _, x := range c.Unix {
		s, err := credentials(x.Username, x.Password, x.AuthRequired, env)
		if err != nil {
			return opened, fmt.Errorf("[%s]: %w", x.Section, err)
		}
		if s.listener, err = listenUnix(ctx, x, c.Supervisord.User); err != nil {
			return opened, fmt.Errorf("[%s]: %w", x.Section, err)
		}
		opened = append(opened, s)
	}
	return opened, nil
}

// listenUnix opens a socket file. It is created under a umask that prevents connections until its
// mode and owner are set. The owner is the configured one, or else the user that the unit switches
// to.
func listenUnix(ctx context.Context, x config.UnixServer, user *config.User) (net.Listener, error) {
	if info, err := safepath.Lstat(x.File); err == nil && info.Mode()&os.ModeSocket != 0 {
		if conn, err := net.Dial("unix", x.File); err == nil { //nolint:noctx // a local socket answers or refuses at once
			conn.Close()
			return nil, fmt.Errorf("another process is listening on %s", x.File)
		}
		_ = safepath.Remove(x.File) // left by a killed process
	}
	var listener *net.UnixListener
	err := underUmask(0o777, func() (err error) {
		listener, err = safepath.Listen(ctx, x.File)
		return err
	})
	if err != nil {
		return nil, err
	}
	owner := x.Owner
	if owner == nil && os.Geteuid() == 0 {
		owner = user
	}
	uid, gid := 0, 0
	if owner != nil {
		uid, gid = owner.UID, owner.GID
	}
	if err := safepath.OwnSocket(x.File, owner != nil, uid, gid, os.FileMode(x.Mode)); err != nil {
		listener.Close()
		return nil, err
	}
	return newSocketFile(listener, x.File), nil
}

// socketFile is a listener that removes its file when it is closed.
type socketFile struct {
	net.Listener
	remove func()
}

func newSocketFile(listener net.Listener, path string) socketFile {
	return socketFile{listener, sync.OnceFunc(func() { _ = safepath.Remove(path) })} // a remaining file is replaced at the next start
}

// Close removes the file before it closes the listener: afterwards the file may belong to another
// listener.
func (s socketFile) Close() error {
	s.remove()
	return s.Listener.Close()
}

// credentials returns a server's user and password from the configuration or, if missing there,
// from the environment.
func credentials(user, password string, required bool, env map[string]string) (server, error) {
	s := server{user: user, password: password}
	if file := env["SUPERVISORD_PASSWORD_FILE"]; password == "" && file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return server{}, fmt.Errorf("cannot read the password: %w", err)
		}
		if len(wire.Passwords(data)) == 0 {
			return server{}, fmt.Errorf("the password file %s is empty", file)
		}
		s.password, s.passwords = string(data), func() ([]byte, error) { return os.ReadFile(file) }
	} else if password == "" {
		s.password = env["SUPERVISORD_PASSWORD"]
	}
	if user == "" && s.password != "" {
		s.user = env["SUPERVISORD_USER"]
	}
	if required && s.password == "" {
		return server{}, errors.New("toskose_auth=required, but the password is missing; set SUPERVISORD_PASSWORD_FILE to a file that contains it")
	}
	return s, nil
}

func (s servers) close() {
	for _, server := range s {
		server.listener.Close()
	}
}

func (s server) serve(ctx context.Context, handler http.Handler, logger *slog.Logger) error {
	if s.tls != nil {
		return rpc.ServeTLS(ctx, s.listener, s.tls, handler, rpc.Limits{}, logger)
	}
	return rpc.Serve(ctx, s.listener, handler, rpc.Limits{}, logger)
}

// serve serves every listener until stop is called. If one fails, the unit shuts down, since it may
// be unreachable.
func (s servers) serve(ctx context.Context, u *unit.Unit, idle *idleWatch, logger *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var serving sync.WaitGroup
	for _, server := range s {
		handler := idle.count(rpc.New(rpc.Options{
			Unit: u, User: server.user, Password: server.password, PasswordFile: server.passwords, TLS: server.files,
			Version: version, Logger: logger,
		}))
		serving.Go(func() {
			err := server.serve(ctx, handler, logger)
			if err != nil && !errors.Is(err, context.Canceled) && ctx.Err() == nil {
				logger.Error("cannot serve", "address", server.listener.Addr().String(), "error", err)
				_ = u.Shutdown()
			}
		})
	}
	return func() {
		cancel()
		serving.Wait()
	}
}
