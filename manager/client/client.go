// Package client is a client of a manager's REST API. Its types are those of the server.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/internal/sleep"
)

// Client sends requests to one manager. Its methods are safe for concurrent use.
type Client struct {
	opts     Options
	http     *http.Client
	password atomic.Pointer[string]
}

// Options are a manager's address and the caller's credentials.
type Options struct {
	Address        string // such as http://localhost:10000
	User, Password string // an empty user sends none

	// PasswordAgain reads the password again after the manager refused it: it may have been rotated. nil: the password
	// never changes.
	PasswordAgain func() (string, error)

	// Patient reports whether an unresponsive manager is being replaced: the client then retries for up to ten
	// minutes. nil: never.
	Patient func() bool

	Token func() (string, error) // called for each request, instead of a password; nil: none
	TLS   *tls.Config            // nil: the default configuration
}

// New returns a client that authenticates with a password.
func New(address, user, password string) *Client {
	return With(Options{Address: address, User: user, Password: password})
}

// With returns a client.
func With(opts Options) *Client {
	opts.Address = strings.TrimRight(opts.Address, "/")
	c := &Client{opts: opts, http: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	c.password.Store(&opts.Password)
	if opts.TLS != nil {
		c.http.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: opts.TLS}
	}
	return c
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// login adds the credentials to a request.
func (c *Client) login(r *http.Request) error {
	if c.opts.Token != nil {
		token, err := c.opts.Token()
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	if c.opts.User != "" {
		r.SetBasicAuth(c.opts.User, *c.password.Load())
	}
	return nil
}

// again reports whether the password has changed since one was refused.
func (c *Client) again(refused string) bool {
	if c.opts.PasswordAgain == nil || c.opts.Token != nil {
		return false
	}
	now, err := c.opts.PasswordAgain()
	if err != nil || now == refused {
		return false
	}
	c.password.Store(&now)
	return true
}

// ErrNoAnswer is the error of a request to which no manager responded.
var ErrNoAnswer = errors.New("the manager does not answer")

const (
	maxAnswer = 64 << 20    // maximum size of a response
	patience  = time.Minute // timeout of a request

	replacing = 10 * time.Minute // timeout while the manager is being replaced
)

// request is a request to the API.
type request struct {
	method, path string
	query        url.Values
	header       map[string]string
	body         any // as JSON; nil: none

	// repeatable means that the request is idempotent.
	repeatable bool
}

// send sends a request and returns a successful response, whose body the caller closes. A refused request had no
// effect.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	for wait := 20 * time.Millisecond; ; {
		with := *c.password.Load()
		answer, err := c.sendOnce(ctx, r)
		var problem *Problem
		switch {
		case errors.As(err, &problem) && problem.Status == http.StatusUnauthorized && c.again(with):
			continue
		case err == nil || !c.patient() || !r.may(err):
			return answer, err
		}
		if sleep.For(ctx, wait) != nil {
			return answer, err
		}
		wait = min(2*wait, 250*time.Millisecond)
	}
}

func (c *Client) patient() bool { return c.opts.Patient != nil && c.opts.Patient() }

// may reports whether a request may be retried after an error: it was not received, or is idempotent.
func (r request) may(err error) bool {
	var p *Problem
	if errors.As(err, &p) {
		return p.Status == http.StatusServiceUnavailable && p.Execution == ""
	}
	var op *net.OpError
	unsent := errors.As(err, &op) && op.Op == "dial"
	return errors.Is(err, ErrNoAnswer) && (unsent || r.repeatable || r.method != http.MethodPost)
}

func (c *Client) sendOnce(ctx context.Context, r request) (*http.Response, error) {
	var text []byte
	if r.body != nil {
		var err error
		if text, err = json.Marshal(r.body); err != nil {
			return nil, fmt.Errorf("cannot send %s %s: %w", r.method, r.path, err)
		}
	}
	at := c.opts.Address + r.path
	if len(r.query) > 0 {
		at += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, at, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the manager's address %q: %w", c.opts.Address, err)
	}
	if err := c.login(req); err != nil {
		return nil, err
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	answer, err := c.http.Do(req)
	if err != nil {
		var about *url.Error // it repeats the address
		if errors.As(err, &about) {
			err = about.Err
		}
		return nil, fmt.Errorf("%w at %s: %w", ErrNoAnswer, c.opts.Address, err)
	}
	redirects := answer.StatusCode/100 == 3 && answer.StatusCode != http.StatusNotModified
	if answer.StatusCode < http.StatusBadRequest && !redirects {
		return answer, nil
	}
	defer answer.Body.Close()
	if redirects { // following it would send the password and the request to another server
		return nil, &Problem{Status: answer.StatusCode, Title: http.StatusText(answer.StatusCode), Detail: fmt.Sprintf(
			"%s redirects to %.200q, which is not followed: give the address of the manager itself", c.opts.Address, answer.Header.Get("Location"))}
	}
	p := &Problem{Status: answer.StatusCode, Title: http.StatusText(answer.StatusCode)}
	if text, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer)); err == nil {
		_ = json.Unmarshal(text, p) // otherwise the status must suffice
	}
	return nil, p
}

// do sends a request and decodes the response; accepted reports whether the status was 202.
func (c *Client) do(ctx context.Context, r request, into any) (accepted bool, err error) {
	limit := patience
	if c.patient() {
		limit = replacing
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := c.send(ctx, r)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return false, fmt.Errorf("%w to the end: %w", ErrNoAnswer, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return false, fmt.Errorf("what answers at %s is no manager: %w", c.opts.Address, err)
	}
	return answer.StatusCode == http.StatusAccepted, nil
}

// Component returns the state of a component.
func (c *Client) Component(ctx context.Context, node, name string) (Component, error) {
	path, err := url.JoinPath("/api/v1/node", url.PathEscape(node), url.PathEscape(name))
	if err != nil {
		return Component{}, err
	}
	var of Component
	_, err = c.do(ctx, request{method: http.MethodGet, path: path}, &of)
	return of, err
}

// App returns the state of the application.
func (c *Client) App(ctx context.Context) (App, error) {
	var app App
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/app"}, &app)
	return app, err
}
