// Package traces exports operations, and the ways to a goal, as traces of OpenTelemetry. New returns nil unless the
// standard variables ask for it. The SDK's goroutine ends with Close.
package traces

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/toskose/toskose/manager/reason"
	"github.com/toskose/toskose/unit/wire"
)

// Options configure the export.
type Options struct {
	Application string // service.name, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES name another
	Version     string // of the manager
	Getenv      func(string) string
	Logger      *slog.Logger
}

// Traces exports spans in the background.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// scopeName is the instrumentation scope of all spans.
const scopeName = "github.com/toskose/toskose/manager"

// New starts the export. It returns nil if the variables do not ask for it, and an error that names each one that is wrong.
func New(ctx context.Context, opts Options) (*Traces, error) {
	s, err := readSettings(opts.Getenv)
	if s == nil || err != nil {
		return nil, err
	}
	named, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", opts.Application), attribute.String("service.version", opts.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdk.NewTracerProvider(
		sdk.WithResource(named), sdk.WithIDGenerator(derived{}), sdk.WithBatcher(newExporter(s, opts.Logger)),
	)
	opts.Logger.Info("traces are exported", "endpoint", s.endpoint)
	return &Traces{provider, provider.Tracer(scopeName, trace.WithInstrumentationVersion(opts.Version))}, nil
}

// Close exports the remaining spans for at most the given time, even if ctx is done.
func (t *Traces) Close(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// Flush exports the spans that have ended.
func (t *Traces) Flush(ctx context.Context) error { return t.provider.ForceFlush(ctx) }

// Way is an attempt to reach a goal: since the goal was set, or since it was no longer reached.
type Way struct {
	Goal  string // the revision in which it was set
	State string // of all components; empty: of some
	By    string
	Began time.Time
}

// End is how a way ended.
type End struct {
	At      time.Time
	Reached bool
	Why     string // why the goal is not reached; empty: another one has replaced it
	Wanted  int    // the number of components with a target
}

// Way exports a way to a goal, which has ended. Its operations are its children.
func (t *Traces) Way(w Way, end End) {
	name := "reach goal"
	if w.State != "" {
		name += " " + w.State
	}
	_, s := t.tracer.Start(withIDs(w.ids()), name, trace.WithTimestamp(w.Began), trace.WithAttributes(
		attribute.String("toskose.goal", w.Goal), attribute.String("toskose.by", w.By), attribute.Int("toskose.components", end.Wanted), attribute.Bool("toskose.reached", end.Reached)))
	switch {
	case end.Reached:
		s.SetStatus(codes.Ok, "")
	case end.Why != "":
		s.SetStatus(codes.Error, end.Why)
	}
	s.End(trace.WithTimestamp(end.At))
}

// Execution exports an ended execution. For is the way that it belongs to; nil: a client has requested it.
func (t *Traces) Execution(x *wire.Execution, node, replica, instance string, of *Way) {
	ids := ids{trace: traceID("execution", x.ID), span: spanID(x.ID, instance, x.Component)}
	ctx := context.Background()
	if of != nil {
		parent := of.ids()
		ids.trace = parent.trace
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: parent.trace, SpanID: parent.span, TraceFlags: trace.FlagsSampled}))
	}
	attributes := []attribute.KeyValue{
		attribute.String("toskose.node", node), attribute.String("toskose.replica", replica), attribute.String("toskose.instance", instance),
		attribute.String("toskose.component", x.Component), attribute.String("toskose.operation", x.Interface+"."+x.Operation), attribute.String("toskose.execution", x.ID),
		attribute.String("toskose.by", x.By), attribute.String("toskose.outcome", string(x.Outcome)),
	}
	if x.ExitCode != nil {
		attributes = append(attributes, attribute.Int("process.exit.code", *x.ExitCode))
	}
	if x.PID != 0 {
		attributes = append(attributes, attribute.Int("process.pid", x.PID))
	}
	if x.Part != nil {
		attributes = append(attributes, attribute.Int("toskose.index", x.Part.Index), attribute.Int("toskose.attempt", x.Part.Attempt))
	}
	_, s := t.tracer.Start(context.WithValue(ctx, idsKey{}, ids), x.Component+" "+x.Operation, trace.WithTimestamp(x.Started), trace.WithAttributes(attributes...))
	if reason.Failed(x) {
		s.SetStatus(codes.Error, reason.Failure(x, 1))
	}
	s.End(trace.WithTimestamp(x.Ended))
}

// ids are the ids of the next span. They are derived from the ids of goals and executions, so that several managers export
// the same span, and children can be exported before their parent.
type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

type idsKey struct{}

func withIDs(i ids) context.Context { return context.WithValue(context.Background(), idsKey{}, i) }

func (w *Way) ids() ids {
	began := w.Began.UTC().Format(time.RFC3339Nano)
	return ids{traceID("goal", w.Goal, began), spanID("goal", w.Goal, began)}
}

func hash(of []string) [sha256.Size]byte { return sha256.Sum256(fmt.Appendf(nil, "%q", of)) }

func traceID(of ...string) (id trace.TraceID) {
	sum := hash(of)
	copy(id[:], sum[:])
	return id
}

func spanID(of ...string) (id trace.SpanID) {
	sum := hash(of)
	copy(id[:], sum[len(id)*2:])
	return id
}

// derived gives spans the ids in their contexts. It implements [sdk.IDGenerator].
type derived struct{}

func (derived) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	i, _ := ctx.Value(idsKey{}).(ids) // all spans have them
	return i.trace, i.span
}

func (derived) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	i, _ := ctx.Value(idsKey{}).(ids) // all spans have them
	return i.span
}
