package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/toskose/toskose/internal/sleep"
)

// exporter sends spans as OTLP over HTTP, in its JSON encoding. The exporter of the OpenTelemetry project links gRPC and
// makes the manager 8 MB larger.
type exporter struct {
	*settings
	client *http.Client
	logger *slog.Logger
}

func newExporter(s *settings, logger *slog.Logger) *exporter {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: s.tls, MaxIdleConns: 1, IdleConnTimeout: time.Minute}
	client := &http.Client{
		Transport: transport, Timeout: s.timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it would repeat the headers elsewhere
	}
	return &exporter{s, client, logger}
}

// Shutdown implements [sdk.SpanExporter].
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// maxRetryPause bounds the pause before a repeated request.
const maxRetryPause = 30 * time.Second

// ExportSpans implements [sdk.SpanExporter]. It logs an error itself, because the SDK would print it to the standard error.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	if err := e.export(ctx, spans); err != nil {
		e.logger.Warn("spans are lost", "spans", len(spans), "err", err)
	}
	return nil
}

// export sends spans, and repeats the request as the OTLP specification says, until ctx ends.
func (e *exporter) export(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := json.Marshal(encode(spans))
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	if e.gzip {
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		if _, err := zip.Write(body); err != nil {
			return fmt.Errorf("compress spans: %w", err)
		}
		if err := zip.Close(); err != nil {
			return fmt.Errorf("compress spans: %w", err)
		}
		body = packed.Bytes()
	}
	for pause := time.Second; ; pause = min(2*pause, maxRetryPause) {
		after, err := e.post(ctx, body)
		if err == nil || after < 0 {
			return err
		}
		if sleep.For(ctx, max(after, pause)) != nil {
			return err
		}
	}
}

// final is returned by post if the request must not be repeated.
const final = -1

// post sends one request, and returns how long to wait at least before it is repeated.
func (e *exporter) post(ctx context.Context, body []byte) (after time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, bytes.NewReader(body))
	if err != nil {
		return final, err
	}
	for name, values := range e.headers {
		request.Header[name] = values
	}
	request.Header.Set("Content-Type", "application/json")
	if e.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := e.client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("export traces: %w", err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10)) // an answer that is cut off is not understood below
	switch response.StatusCode {
	case http.StatusOK:
		var answer struct {
			PartialSuccess struct {
				RejectedSpans json.Number `json:"rejectedSpans"`
				ErrorMessage  string      `json:"errorMessage"`
			} `json:"partialSuccess"`
		}
		if json.Unmarshal(text, &answer) == nil && answer.PartialSuccess.ErrorMessage != "" {
			e.logger.Warn("the collector rejects spans", "rejected", answer.PartialSuccess.RejectedSpans.String(), "why", answer.PartialSuccess.ErrorMessage)
		}
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // 0 for anything else
		return min(max(time.Duration(seconds)*time.Second, 0), maxRetryPause), fmt.Errorf("export traces: %s answers %s", e.endpoint, response.Status)
	}
	return final, fmt.Errorf("export traces: %s answers %s", e.endpoint, response.Status)
}

// The types of OTLP's JSON encoding, as far as they are used.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   attributes   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	attributes struct {
		Attributes []keyValue `json:"attributes,omitempty"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	span struct {
		TraceID      string     `json:"traceId"`
		SpanID       string     `json:"spanId"`
		ParentSpanID string     `json:"parentSpanId,omitempty"`
		Flags        uint32     `json:"flags"`
		Name         string     `json:"name"`
		Kind         int        `json:"kind"`
		Start        string     `json:"startTimeUnixNano"`
		End          string     `json:"endTimeUnixNano"`
		Attributes   []keyValue `json:"attributes,omitempty"`
		Status       status     `json:"status"`
	}
	status struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	}
	keyValue struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string `json:"stringValue,omitempty"`
		Int    *string `json:"intValue,omitempty"`
		Bool   *bool   `json:"boolValue,omitempty"`
	}
)

// encode returns the request for spans, which all have one resource and one scope.
func encode(spans []sdk.ReadOnlySpan) request {
	first := spans[0]
	scoped := scopeSpans{Scope: scope{first.InstrumentationScope().Name, first.InstrumentationScope().Version}}
	for _, s := range spans {
		made := span{
			TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Flags: uint32(s.SpanContext().TraceFlags()),
			Name: s.Name(), Kind: int(s.SpanKind()), Start: nanoseconds(s.StartTime()), End: nanoseconds(s.EndTime()), Attributes: encodeAttributes(s.Attributes()),
		}
		if s.Parent().SpanID().IsValid() {
			made.ParentSpanID = s.Parent().SpanID().String()
		}
		switch s.Status().Code {
		case codes.Ok:
			made.Status.Code = 1
		case codes.Error:
			made.Status = status{s.Status().Description, 2}
		case codes.Unset:
		}
		scoped.Spans = append(scoped.Spans, made)
	}
	return request{[]resourceSpans{{attributes{encodeAttributes(first.Resource().Attributes())}, []scopeSpans{scoped}}}}
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func encodeAttributes(from []attribute.KeyValue) []keyValue {
	var all []keyValue
	for _, a := range from {
		var v value
		switch a.Value.Type() {
		case attribute.INT64:
			text := strconv.FormatInt(a.Value.AsInt64(), 10)
			v.Int = &text
		case attribute.BOOL:
			is := a.Value.AsBool()
			v.Bool = &is
		default:
			text := a.Value.String()
			v.String = &text
		}
		all = append(all, keyValue{string(a.Key), v})
	}
	return all
}
