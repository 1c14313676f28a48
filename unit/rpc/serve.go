package rpc

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

// Limits bound the resources that clients can use. A zero field means its default.
type Limits struct {
	RequestBytes    int64         // of a request's body; 1 MiB
	Depth           int           // how deep arrays and structs nest; 32
	Values          int           // values in one request; 10,000
	AnswerBytes     int64         // total size of the results of one system.multicall, after which no more calls are made; 64 MiB
	Unauthenticated int           // unauthenticated connections, beyond which one of them is closed; 64
	Connections     int           // connections with a call, or idle after one; beyond that an idle one is closed or the call waits; 128
	Followers       int           // connections that follow a log; 256
	HeaderBytes     int           // of a request; 16 KiB
	HeaderTime      time.Duration // to send the header; 5 s
	BodyTime        time.Duration // to send the body; 30 s
	WriteTime       time.Duration // to accept a response, or a piece of an endless one; 30 s
	IdleTime        time.Duration // between two requests of a connection; 2 min
	CloseTime       time.Duration // for unfinished responses when Serve ends; 1 s
}

func (l Limits) withDefaults() Limits {
	l.RequestBytes = cmp.Or(l.RequestBytes, 1<<20)
	l.Depth = cmp.Or(l.Depth, 32)
	l.Values = cmp.Or(l.Values, 10_000)
	l.AnswerBytes = cmp.Or(l.AnswerBytes, 64<<20)
	l.Unauthenticated = cmp.Or(l.Unauthenticated, 64)
	l.Connections = cmp.Or(l.Connections, 128)
	l.Followers = cmp.Or(l.Followers, 256)
	l.HeaderBytes = cmp.Or(l.HeaderBytes, 16<<10)
	l.HeaderTime = cmp.Or(l.HeaderTime, 5*time.Second)
	l.BodyTime = cmp.Or(l.BodyTime, 30*time.Second)
	l.WriteTime = cmp.Or(l.WriteTime, 30*time.Second)
	l.IdleTime = cmp.Or(l.IdleTime, 2*time.Minute)
	l.CloseTime = cmp.Or(l.CloseTime, time.Second)
	return l
}

// Serve serves on the listener until ctx ends, and returns nil once every connection is closed:
// endless responses and waiting calls end at once; other responses have limits.CloseTime. It closes
// the listener. It returns an error if it ends for any other reason.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, limits Limits, logger *slog.Logger) error {
	limits = limits.withDefaults()
	return serveLimited(ctx, newConnections(listener, limits), handler, limits, logger)
}

// ServeTLS is Serve over TLS. HeaderTime includes the handshake.
func ServeTLS(ctx context.Context, listener net.Listener, config *tls.Config, handler http.Handler, limits Limits, logger *slog.Logger) error {
	limits = limits.withDefaults()
	limited := tls.NewListener(newConnections(listener, limits), config)
	return serveLimited(ctx, limited, handler, limits, logger)
}

func serveLimited(ctx context.Context, listener net.Listener, handler http.Handler, limits Limits, logger *slog.Logger) error {
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer endRequests()
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	srv := &http.Server{
		Handler:           handler,
		Protocols:         &protocols,
		ReadHeaderTimeout: limits.HeaderTime,
		IdleTimeout:       limits.IdleTime,
		MaxHeaderBytes:    limits.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return requests },
		ConnContext:       withConnection,
		ConnState:         trackIdle,
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	select {
	case err := <-served:
		_ = srv.Close()
		return err
	case <-ctx.Done():
	}
	endRequests()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.CloseTime)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		_ = srv.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
