package traces

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// settings are the variables of the OpenTelemetry specification for the exporter. The SDK itself reads the variables for
// sampling, batches, limits of spans, and the resource.
type settings struct {
	endpoint string
	headers  http.Header
	timeout  time.Duration // of one request
	gzip     bool
	tls      *tls.Config
}

// defaultTimeout is how long a request may take.
const defaultTimeout = 10 * time.Second

// readSettings returns nil if nothing is to be exported: without an endpoint, or if the variables turn it off.
func readSettings(getenv func(string) string) (*settings, error) {
	// of returns the value for traces, or else the one for all signals.
	of := func(name string) (value, variable string) {
		if value := getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); value != "" {
			return value, "OTEL_EXPORTER_OTLP_TRACES_" + name
		}
		return getenv("OTEL_EXPORTER_OTLP_" + name), "OTEL_EXPORTER_OTLP_" + name
	}
	endpoint, variable := of("ENDPOINT")
	if endpoint == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil //nolint:nilnil // as documented
	}
	s := &settings{timeout: defaultTimeout}
	var problems []error
	report := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if exporter := cmp.Or(getenv("OTEL_TRACES_EXPORTER"), "otlp"); exporter != "otlp" {
		report("OTEL_TRACES_EXPORTER is %q: traces are exported by otlp, or none are", exporter)
	}
	if protocol, from := of("PROTOCOL"); protocol != "" && protocol != "http/json" {
		report("%s is %q: traces are exported by http/json only, which collectors accept at the port of http/protobuf (4318)", from, protocol)
	}
	at, err := url.Parse(endpoint)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		report("%s is %q: it must be a URL like http://collector:4318", variable, endpoint)
	} else if variable == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		at = at.JoinPath("v1", "traces")
		endpoint = at.String()
	}
	s.endpoint = endpoint
	if text, from := of("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			report("%s is %q: it must be a number of milliseconds", from, text)
		}
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	switch compression, from := of("COMPRESSION"); compression {
	case "gzip":
		s.gzip = true
	case "", "none":
	default:
		report("%s is %q: it must be gzip or none", from, compression)
	}
	headers, from := of("HEADERS")
	if s.headers, err = parseHeaders(headers); err != nil {
		report("%s: %w", from, err)
	}
	if file, from := of("CERTIFICATE"); file != "" {
		if s.tls, err = trusting(file); err != nil {
			report("%s: %w", from, err)
		}
	}
	return s, errors.Join(problems...)
}

// parseHeaders parses NAME=VALUE,NAME=VALUE with escaped values. Errors have no values, which may be secrets.
func parseHeaders(text string) (http.Header, error) {
	headers := http.Header{}
	for n, pair := range strings.Split(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, fmt.Errorf("header %d is not NAME=VALUE, with a value as in a URL", n+1)
		}
		headers.Add(name, value)
	}
	return headers, nil
}

// trusting returns the configuration of TLS that trusts the authorities in a PEM file.
func trusting(file string) (*tls.Config, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}
