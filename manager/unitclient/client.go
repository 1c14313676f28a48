// Package unitclient talks to one unit: XML-RPC under /RPC2 and the journal
// over plain HTTP. Encoding and decoding are kolo/xmlrpc's; connections,
// contexts, limits and errors are here, because its own client runs one call at
// a time, without a context, and reads answers of any length. It starts no
// goroutine of its own.
//
// Every error is one of four kinds: a *wire.Fault that the unit answered, or
// one with ErrUnreachable, ErrUnauthorized or ErrBadAnswer in its chain.
package unitclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/kolo/xmlrpc"
)

// What can go wrong beside a fault.
var (
	// ErrUnreachable: no answer came in time, or not all of it. Whether the
	// call was carried out is not known.
	ErrUnreachable = errors.New("the unit does not answer")
	// ErrUnauthorized: the unit refuses the user or password.
	ErrUnauthorized = errors.New("the unit refuses the manager's credentials")
	// ErrBadAnswer: what answered is no unit, or says nonsense.
	ErrBadAnswer = errors.New("the unit's answer makes no sense")
)

// Limits bounds what a call may take. A zero field means its default.
type Limits struct {
	Connect time.Duration // to be connected; 2 s
	Call    time.Duration // of a call that is answered at once; 5 s
	Stop    time.Duration // of a call that waits for processes to end; 2 min
	Answer  int64         // bytes of an answer; 8 MiB
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
	if l.Answer <= 0 {
		l.Answer = 8 << 20
	}
	return l
}

// Pool keeps connections to units open between calls.
type Pool struct {
	http   *http.Client
	limits Limits
	tls    *secured // nil: they are spoken to in the clear
}

// NewPool makes a pool. It never uses a proxy and never follows a redirect:
// either would carry a password to somebody else.
func NewPool(limits Limits) *Pool {
	limits = limits.withDefaults()
	transport := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: limits.Connect}).DialContext,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}
	return &Pool{limits: limits, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the connections that are not in use.
func (p *Pool) Close() {
	p.http.CloseIdleConnections()
	if p.tls != nil {
		p.tls.close()
	}
}

// Credentials are the user and password that a unit asks for, and, where TLS
// is spoken, the name that its certificate must have.
type Credentials struct{ User, Password, Name string }

// Client calls one unit. It may be used by many goroutines and need not be closed.
type Client struct {
	pool        *Pool
	http        *http.Client
	base        url.URL
	credentials Credentials
}

// Client makes a client of the unit at an address.
func (p *Pool) Client(addr netip.AddrPort, credentials Credentials) *Client {
	scheme := "http"
	if p.tls != nil {
		scheme = "https"
	}
	return &Client{pool: p, http: p.client(credentials.Name), base: url.URL{Scheme: scheme, Host: addr.String()}, credentials: credentials}
}

// effect says whether a call may be sent again when its answer got lost.
type effect bool

const (
	repeatable effect = true
	once       effect = false
)

// call calls a method and decodes its answer into result, a pointer.
func (c *Client) call(ctx context.Context, limit time.Duration, e effect, method string, result any, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	body, err := xmlrpc.EncodeMethodCall(method, args...)
	if err != nil {
		return fmt.Errorf("cannot encode a call of %s: %w", method, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.String()+"/RPC2", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("cannot call %s: %w", method, err)
	}
	req.Header.Set("Content-Type", "text/xml")
	if e == repeatable {
		// net/http sends a request again, on a new connection, when it finds a
		// kept one closed; for a POST only with this header, which, being nil,
		// is not sent itself.
		req.Header["Idempotency-Key"] = nil
	}
	answer, err := c.do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	defer answer.Body.Close()
	data, err := c.readAll(ctx, answer.Body)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if err := decode(data, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// do sends a request and gives an answer of status 200; the caller closes it.
func (c *Client) do(req *http.Request) (*http.Response, error) {
	req.SetBasicAuth(c.credentials.User, c.credentials.Password)
	answer, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(req.Context(), err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	answer.Body.Close()
	if answer.StatusCode == http.StatusUnauthorized {
		return nil, ErrUnauthorized
	}
	return nil, fmt.Errorf("%w: status %s", ErrBadAnswer, answer.Status)
}

func (c *Client) readAll(ctx context.Context, body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, c.pool.limits.Answer+1))
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if int64(len(data)) > c.pool.limits.Answer {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrBadAnswer, c.pool.limits.Answer)
	}
	return data, nil
}

// unreachable makes one sentence of a transport's error, without the URL that
// net/http puts around it.
func (c *Client) unreachable(ctx context.Context, err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer in time: %w", ctx.Err())
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}
