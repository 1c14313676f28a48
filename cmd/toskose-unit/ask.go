package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/unit/config"
)

// healthTime bounds the wait for a response.
const healthTime = 2 * time.Second

// ask queries the unit of this container: the commands health and pulse ask whether it works, and
// ready whether it is ready for clients.
func ask(ctx context.Context, command, path string, args []string, s system) int {
	f, code, ok := parseCommandFlags(command, args, s)
	if !ok {
		return code
	}
	door, err := findEndpoint(f, s)
	if err != nil {
		printError(s, err)
		return exitFailed
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	if err := door.ask(ctx, path); err != nil {
		fmt.Fprintf(s.stderr, "toskose-unit %s: %v\n", command, err)
		return exitFailed
	}
	return exitOK
}

// endpoint is an address of the unit.
type endpoint struct {
	network, address string
	tls              *config.TLS
}

// findEndpoint returns the unit's address from TOSKOSE_UNIT_LISTEN, or else from the configuration
// or, if none was given and the default does not exist, from SUPERVISORD_PORT.
func findEndpoint(f flags, s system) (endpoint, error) {
	if s.joins() {
		return s.joinEndpoint()
	}
	port, given := s.env["SUPERVISORD_PORT"], f.file != ""
	file, err := f.configuration(s)
	var c *config.Config
	if err == nil {
		c, _, err = config.Load(file, s.env)
	}
	if err != nil {
		if given || port == "" {
			return endpoint{}, err
		}
		return endpoint{network: "tcp", address: net.JoinHostPort("127.0.0.1", port)}, nil
	}
	for _, i := range c.Inet {
		if number := strconv.Itoa(i.Port); given || port == "" || port == number {
			host := i.Host
			if host == "" {
				host = "127.0.0.1"
			}
			return endpoint{network: "tcp", address: net.JoinHostPort(host, number), tls: i.TLS}, nil
		}
	}
	switch {
	case !given && port != "":
		return endpoint{network: "tcp", address: net.JoinHostPort("127.0.0.1", port)}, nil
	case len(c.Unix) > 0:
		return endpoint{network: "unix", address: c.Unix[0].File}, nil
	}
	return endpoint{}, fmt.Errorf("%s has no [inet_http_server] and no [unix_http_server]", file)
}

// ask writes the request itself: net/http's client would add a quarter to the size of the binary.
func (d endpoint) ask(ctx context.Context, path string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, d.network, d.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if d.tls != nil {
		own, err := tls.LoadX509KeyPair(d.tls.Cert, d.tls.Key)
		if err != nil {
			return fmt.Errorf("cannot use the certificate of %s: %w", d.address, err)
		}
		conn = tls.Client(conn, selfTLSConfig(own))
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: unit\r\nConnection: close\r\n\r\n", path); err != nil {
		return fmt.Errorf("cannot send a request to %s: %w", d.address, err)
	}
	status, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", d.address, err)
	}
	if fields := strings.Fields(status); len(fields) < 2 || fields[1] != "200" {
		return fmt.Errorf("%s answers %q", d.address, strings.TrimSpace(status))
	}
	return nil
}

// selfTLSConfig returns the TLS configuration for a connection of the unit to itself: both ends
// have the same certificate, so name and validity are irrelevant.
func selfTLSConfig(own tls.Certificate) *tls.Config {
	return &tls.Config{
		MinVersion:           tls.VersionTLS12,
		InsecureSkipVerify:   true, //nolint:gosec // VerifyConnection compares the whole certificate
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil },
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !bytes.Equal(state.PeerCertificates[0].Raw, own.Certificate[0]) {
				return errors.New("its certificate is not the configured one")
			}
			return nil
		},
	}
}
