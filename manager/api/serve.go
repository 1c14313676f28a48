package api

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// ServeOptions bounds what clients can make the server spend. A zero field
// means its default.
type ServeOptions struct {
	Connections int           // at the same time; others wait to be accepted; 1,024
	Grace       time.Duration // for answers under way when serving ends; 3 s
	Stopping    func()        // called before that, to end what requests wait for
	Logger      *slog.Logger
	TLS         *tls.Config // nil: in the clear
}

// Serve serves on the listener until ctx ends, and returns nil once every answer
// is complete or cut off. There is no limit to how long an answer may take: an
// operation takes as long as it takes.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, opts ServeOptions) error {
	if opts.Connections <= 0 {
		opts.Connections = 1024
	}
	if opts.Grace <= 0 {
		opts.Grace = 3 * time.Second
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	srv := &http.Server{
		Handler:           handler,
		Protocols:         &protocols,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(opts.Logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	listener = netutil.LimitListener(listener, opts.Connections)
	if opts.TLS != nil { // outermost, or the server does not know that it is TLS
		listener = tls.NewListener(listener, opts.TLS)
	}
	go func() { served <- srv.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	if opts.Stopping != nil {
		opts.Stopping()
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), opts.Grace)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		opts.Logger.Warn("answers under way were cut off", "error", srv.Close())
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
