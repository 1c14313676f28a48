package unitclient

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"

	"github.com/toskose/toskose/internal/certs"
	"github.com/toskose/toskose/unit/wire"
)

// Used describes the rotatable credentials that a unit uses, and whether it accepts the manager's.
type Used struct {
	wire.Credentials
	Known       int    // number of passwords that the manager has for it
	Accepted    bool   // the unit accepts the newest of them
	Certificate string // SHA-256 of the unit's certificate; empty: none
}

// Used returns the credentials that a unit uses, over a new connection, so that all changes take effect.
func (c *Client) Used(ctx context.Context) (Used, error) {
	passwords := c.credentials.Passwords()
	newest := passwords[len(passwords)-1:]
	transport := c.http.Transport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	defer transport.CloseIdleConnections()
	alone := &Client{pool: c.pool, http: &http.Client{Transport: transport, CheckRedirect: c.http.CheckRedirect}, base: c.base, credentials: c.credentials}
	alone.credentials.Passwords = func() []string { return newest }
	now, err := alone.asked(ctx)
	now.Known, now.Accepted = len(passwords), err == nil
	if len(passwords) > 1 && errors.Is(err, ErrUnauthorized) {
		alone.credentials.Passwords = c.credentials.Passwords
		before, err := alone.asked(ctx)
		before.Known = len(passwords)
		return before, err
	}
	return now, err
}

func (c *Client) asked(ctx context.Context) (Used, error) {
	ctx, cancel := context.WithTimeout(ctx, c.pool.limits.Call)
	defer cancel()
	var now Used
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { now.Certificate = certificateOf(got.Conn) }})
	r := request{method: http.MethodGet, path: "/instance"}
	answer, err := c.send(ctx, r)
	if err != nil {
		return Used{}, err
	}
	defer answer.Body.Close()
	data, err := c.readAll(ctx, answer.Body)
	if err != nil {
		return Used{}, r.failed(err)
	}
	var id wire.Identity
	if err := json.Unmarshal(data, &id); err != nil {
		return Used{}, r.failed(fmt.Errorf("%w: %w", ErrBadAnswer, err))
	}
	if id.Credentials != nil { // an older unit has none
		now.Credentials = *id.Credentials
	}
	return now, nil
}

// certificateOf returns the SHA-256 of the peer's certificate; empty without TLS.
func certificateOf(conn net.Conn) string {
	if ours, ok := conn.(*connection); ok {
		conn = ours.Conn
	}
	secure, ok := conn.(*tls.Conn)
	if !ok || len(secure.ConnectionState().PeerCertificates) == 0 {
		return ""
	}
	return certs.Fingerprint(secure.ConnectionState().PeerCertificates[0].Raw)
}
