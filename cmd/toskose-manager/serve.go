package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/toskose/toskose/internal/certs"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/audit"
	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/manager/httpserver"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/metrics"
	"github.com/toskose/toskose/manager/traces"
)

// serve serves the API until ctx ends. out gets the audit log, unless it is configured otherwise.
func serve(ctx context.Context, files paths, getenv func(string) string, out, logs io.Writer) error {
	s, err := readSettings(files, getenv)
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	if s.testing {
		level = slog.LevelDebug
	}
	logger := slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: level}))
	s.access.Logger = logger
	gate, err := access.New(s.access)
	if err != nil {
		return err
	}
	auditFile, closeAudit, err := openAudit(s.audit, out, logs)
	if err != nil {
		return err
	}
	defer closeAudit()
	exported, err := traces.New(ctx, traces.Options{Application: s.app.Name, Version: version, Getenv: getenv, Logger: logger})
	if err != nil {
		return err
	}
	defer closeTraces(ctx, exported, logger)
	apps, err := s.manager(logger, audit.New(auditFile, logger), exported)
	if err != nil {
		return err
	}
	defer apps.Close()
	counted := metrics.New(apps, version)
	handler, err := api.New(apps.Current(), api.Options{
		Access: gate, Audit: auditFile, Version: version, Logger: logger, Testing: s.testing, Metrics: counted, Certificates: s.units.own,
	})
	if err != nil {
		return err
	}
	options := httpserver.Options{Logger: logger, Stopping: apps.Close}
	listener, err := s.listen(ctx, &options)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go counted.Run(ctx, apps.Current())
	go gate.Watch(ctx)
	learned := make(chan error, 1)
	go func() {
		err := learn(ctx, apps, handler, counted)
		if err != nil {
			stop()
		}
		learned <- err
	}()
	logger.Info("serving", "application", s.app.Name, "port", s.port, "tls", s.tls != nil, "version", version)
	err = httpserver.Serve(ctx, listener, handler, options)
	stop()
	err = errors.Join(err, <-learned)
	logger.Info("stopped", "error", err)
	return err
}

// listen opens the port of the API, and sets the options of its TLS.
func (s *settings) listen(ctx context.Context, options *httpserver.Options) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+strconv.Itoa(s.port))
	if err != nil {
		return nil, fmt.Errorf("cannot serve on port %d: %w", s.port, err)
	}
	if s.tls == nil {
		return listener, nil
	}
	if options.TLS, err = certs.Reloading(s.tls.all(), s.tls.load, options.Logger); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// learn serves the programs of attached nodes as they are learned, until ctx ends.
func learn(ctx context.Context, apps *manager.Learner, handler *api.Handler, counted *metrics.Metrics) error {
	return apps.Run(ctx, func(next func() (*manager.App, error)) error {
		return handler.Replace(func() (api.Application, error) {
			app, err := next()
			if err == nil {
				go counted.Run(ctx, app)
			}
			return app, err
		})
	})
}

// manager returns the application, whose units are spoken to from now on.
func (s *settings) manager(logger *slog.Logger, log *audit.Log, exported *traces.Traces) (*manager.Learner, error) {
	opts := manager.Options{
		Containers: discovery.New(s.mode, s.discovery), Passwords: s.passwords.of, Logger: logger, Traces: exported,
		SecretKey: s.access.SecretKey, Audit: func(n keep.Notice) { log.NoteGoal(goalLine(n)) },
	}
	s.passwords.logger = logger
	if s.units != nil {
		var err error
		if opts.TLS, err = certs.Client(s.units.all(), s.units.load, logger); err != nil {
			return nil, err
		}
	}
	return manager.NewLearner(s.app, opts)
}

// health checks that the manager of this container works.
func health(ctx context.Context, getenv func(string) string) error {
	n, err := port(getenv)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	api, err := readServerTLS(getenv)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true} // and no proxy
	scheme := "http"
	if api != nil {
		scheme = "https"
		if transport.TLSClientConfig, err = api.self(); err != nil {
			return err
		}
	}
	address := scheme + "://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(n)) + "/healthz"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport}
	answer, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("the manager does not answer: %w", err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New("the manager answers " + answer.Status)
	}
	return nil
}

// tracesTime is how long the end of the manager may wait for the collector of traces.
const tracesTime = 2 * time.Second

func closeTraces(ctx context.Context, exported *traces.Traces, logger *slog.Logger) {
	if exported == nil {
		return
	}
	if err := exported.Close(ctx, tracesTime); err != nil {
		logger.Warn("the last traces are lost", "err", err)
	}
}

// goalLine returns the line of the audit log for a notice about a goal.
func goalLine(n keep.Notice) audit.GoalLine {
	return audit.GoalLine{
		Time: time.Now().UTC(), Event: n.Kind, Node: n.Node, Replica: n.Replica, Instance: n.Instance, Revision: n.Revision.String(), Why: n.Why,
	}
}
