// Package httpserver serves HTTP to clients that may be slow, idle or too many, with a graceful shutdown. Serve
// owns its server's goroutines.
package httpserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// AnswerTime is how long a client may take to read a response, unless the handler sets another limit.
const AnswerTime = 30 * time.Second

// Options bound the server's resources. A zero field means its default.
type Options struct {
	Connections int           // at the same time; 2,048
	Head        time.Duration // to receive a request's header; 10 s
	Request     time.Duration // to receive the whole request; 20 s
	Idle        time.Duration // between requests on a connection; 2 min
	Grace       time.Duration // for pending responses at shutdown; 3 s
	Stopping    func()        // called at shutdown, to end the waits of requests
	Logger      *slog.Logger
	TLS         *tls.Config // nil: plain HTTP
}

func (o Options) withDefaults() Options {
	o.Connections = cmp.Or(o.Connections, 2048)
	o.Head, o.Request = cmp.Or(o.Head, 10*time.Second), cmp.Or(o.Request, 20*time.Second)
	o.Idle, o.Grace = cmp.Or(o.Idle, 2*time.Minute), cmp.Or(o.Grace, 3*time.Second)
	return o
}

// Serve serves on the listener until ctx ends, and returns nil once every response is complete or was cut off.
// Handlers have no time limit, because operations have none.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, opts Options) error {
	opts = opts.withDefaults()
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	srv := &http.Server{
		Handler:           handler,
		Protocols:         &protocols,
		ReadHeaderTimeout: opts.Head,
		ReadTimeout:       opts.Request, // no longer applies once the body was read, or there is none
		WriteTimeout:      AnswerTime,   // from then on; handlers that need longer set another limit
		IdleTimeout:       opts.Idle,
		MaxHeaderBytes:    32 << 10,
		ConnContext:       withConnection,
		ErrorLog:          slog.NewLogLogger(opts.Logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	listener = &connections{Listener: listener, limit: opts.Connections}
	if opts.TLS != nil { // outermost, so that the server recognizes TLS
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
