// Package unitclient is the client of one unit: JSON over HTTP, and XML-RPC for Supervisor's methods. It uses
// kolo/xmlrpc only to encode and decode. Connections, contexts, limits and errors are implemented here, because
// that package's client runs one call at a time, without a context, and reads responses of any length. This
// package starts no goroutine.
//
// Every error is one of four kinds: a *wire.Fault that the unit returned, or an error with ErrUnreachable,
// ErrUnauthorized or ErrBadAnswer in its chain.
package unitclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// The errors other than faults.
var (
	// ErrUnreachable means that no complete response arrived in time. Whether the request was carried out is unknown.
	ErrUnreachable = errors.New("the unit does not answer")
	// ErrClosed is in the chain of an ErrUnreachable if the unit's side closed the connection: its process has exited.
	ErrClosed = errors.New("it closed the connection")
	// ErrUnauthorized means that the unit refused the user or password.
	ErrUnauthorized = errors.New("the unit refuses the manager's credentials")
	// ErrBadAnswer means that the response is malformed or not from a unit.
	ErrBadAnswer = errors.New("the unit's answer makes no sense")
)

// Limits bounds the duration and size of requests. A zero field means its default.
type Limits struct {
	Connect time.Duration // to connect; 2 s
	Call    time.Duration // for a request with an immediate response; 5 s
	Stop    time.Duration // for a request that waits for processes to exit; 2 min
	Absent  time.Duration // until a vanished machine is detected during a request; 10 s
	Answer  int64         // maximum size of a response; 8 MiB
}

func (l Limits) withDefaults() Limits {
	if l.Connect <= 0 {
		l.Connect = 2 * time.Second
	}
	if l.Call <= 0 {
		l.Call = 5 * time.Second
	}
	if l.Stop <= 0 {
		l.Stop = 2 * time.Minute
	}
	if l.Absent <= 0 {
		l.Absent = 10 * time.Second
	}
	if l.Answer <= 0 {
		l.Answer = 8 << 20
	}
	return l
}

// Pool keeps connections to units open between requests.
type Pool struct {
	http   *http.Client
	limits Limits
	dial   dialer
	tls    *tlsClients // nil: plain HTTP
}

// keepAlive probes idle connections, so that a connection to a machine that has disappeared breaks in time.
func (l Limits) keepAlive() net.KeepAliveConfig {
	const probes = 3
	interval := l.Absent / (probes + 2)
	return net.KeepAliveConfig{Enable: true, Idle: l.Absent - probes*interval, Interval: interval, Count: probes}
}

// NewPool returns a pool that never uses a proxy and never follows a redirect: either could send a password to
// another server.
func NewPool(limits Limits) *Pool {
	limits = limits.withDefaults()
	dial := dialer((&net.Dialer{Timeout: limits.Connect, KeepAliveConfig: limits.keepAlive()}).DialContext)
	transport := &http.Transport{
		DialContext:            dial.plain,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}
	return &Pool{limits: limits, dial: dial, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes idle connections.
func (p *Pool) Close() {
	p.http.CloseIdleConnections()
	if p.tls != nil {
		p.tls.close()
	}
}

// Credentials are the user and password of a unit and, with TLS, the name that its
// certificate must have.
type Credentials struct {
	User      string
	Passwords func() []string // read for each request; the first is used, and the others if the unit refuses it
	Name      string
}

// Client sends requests to one unit. It is safe for concurrent use and need not be
// closed.
type Client struct {
	pool        *Pool
	http        *http.Client
	base        url.URL
	credentials Credentials
	prefix      string                     // of the callers' names of components
	last        atomic.Pointer[connection] // the connection of the last journal request
}

// Client returns a client of the unit at an address.
func (p *Pool) Client(addr netip.AddrPort, credentials Credentials) *Client {
	scheme := "http"
	if p.tls != nil {
		scheme = "https"
	}
	return &Client{pool: p, http: p.client(credentials.Name), base: url.URL{Scheme: scheme, Host: addr.String()}, credentials: credentials}
}

// request is one request to a unit.
type request struct {
	method, path string
	name         string // in errors; empty: method and path
	kind         string // media type of the body
	body         []byte
	once         bool // never retried, even if the response was lost
	header       map[string]string
}

// ask sends a request and decodes the response.
func (c *Client) ask(ctx context.Context, limit time.Duration, r request, decode func([]byte) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	data, err := c.readAll(ctx, answer.Body)
	if err == nil {
		err = decode(data)
	}
	return r.failed(err)
}

// send sends a request and returns a successful response. The caller closes its body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	var tried []string
	for {
		password, ok := untried(c.credentials.Passwords(), tried)
		if !ok {
			return nil, r.failed(ErrUnauthorized)
		}
		tried = append(tried, password)
		answer, err := c.sendWith(ctx, r, password)
		if !errors.Is(err, ErrUnauthorized) {
			return answer, err
		}
	}
}

// untried returns the next password to try: during rotation, a unit may know only one of them, and a refused
// request had no effect.
func untried(all, tried []string) (string, bool) {
	i := slices.IndexFunc(all, func(one string) bool { return !slices.Contains(tried, one) })
	switch {
	case i >= 0:
		return all[i], true
	case len(tried) == 0: // no password
		return "", true
	}
	return "", false
}

func (c *Client) sendWith(ctx context.Context, r request, password string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, c.base.String()+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, r.failed(err)
	}
	req.SetBasicAuth(c.credentials.User, password)
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if !r.once {
		// net/http retries a request on a new connection if a kept one turns out to be closed. It retries a POST only with
		// this header; since the value is nil, the header is not sent.
		req.Header["Idempotency-Key"] = nil
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return nil, r.failed(unreachable(ctx, err))
	}
	if answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusCreated {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, r.failed(c.refusal(ctx, answer))
}

func (r request) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case r.name != "":
		return fmt.Errorf("%s: %w", r.name, err)
	}
	path, _, _ := strings.Cut(r.path, "?")
	return fmt.Errorf("%s %s: %w", r.method, path, err)
}

// refusal returns the error of an unsuccessful response.
func (c *Client) refusal(ctx context.Context, answer *http.Response) error {
	if answer.StatusCode == http.StatusUnauthorized {
		return ErrUnauthorized
	}
	data, err := c.readAll(ctx, answer.Body)
	if err != nil {
		return err
	}
	var p wire.Problem
	if answer.Header.Get("Content-Type") != wire.ProblemType || json.Unmarshal(data, &p) != nil {
		return fmt.Errorf("%w: status %s", ErrBadAnswer, answer.Status)
	}
	if p.Component != nil {
		c.rename(&p.Component.Name)
	}
	if code := wire.FaultNamed(p.Code); code != 0 {
		return &wire.Fault{Code: code, Detail: p.Detail, Instance: p.UnitInstance, Component: p.Component, Revision: p.Revision}
	}
	if answer.StatusCode == http.StatusServiceUnavailable {
		return fmt.Errorf("%w: %s", ErrUnreachable, p.Detail)
	}
	return fmt.Errorf("%w: status %s: %s", ErrBadAnswer, answer.Status, p.Detail)
}

func (c *Client) readAll(ctx context.Context, body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, c.pool.limits.Answer+1))
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	if int64(len(data)) > c.pool.limits.Answer {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrBadAnswer, c.pool.limits.Answer)
	}
	return data, nil
}

// unreachable returns a transport's error as one sentence, without the URL that net/http adds.
func unreachable(ctx context.Context, err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer in time: %w", ctx.Err())
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// NotConnected reports whether nothing was sent, because the connection failed.
func NotConnected(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}
