package rpc

import (
	"context"

	"github.com/toskose/toskose/unit/wire"
)

func (s *server) execute(ctx context.Context, a args) (any, error) {
	request, err := executeRequest(a.fields(0))
	if err != nil {
		return nil, err
	}
	return s.unit.Execute(ctx, request)
}

func (s *server) getExecution(_ context.Context, a args) (any, error) {
	return s.unit.Execution(a.str(0))
}

func (s *server) cancel(ctx context.Context, a args) (any, error) {
	return s.unit.Cancel(ctx, a.str(0))
}

func (s *server) getComponents(ctx context.Context, _ args) (any, error) {
	return s.unit.Components(ctx)
}

func (s *server) getInstance(ctx context.Context, _ args) (any, error) {
	snapshot, err := s.unit.Components(ctx)
	return snapshot.Instance, err
}

// executeRequest reads a request strictly: a field that is not known could be
// one on which the caller relies.
func executeRequest(fields map[string]any) (wire.ExecuteRequest, error) {
	var request wire.ExecuteRequest
	texts := map[string]*string{
		"id": &request.ID, "component": &request.Component, "operation": &request.Operation,
		"by": &request.By, "instance": &request.Instance,
	}
	for name, value := range fields {
		var ok bool
		switch name {
		case "timeout":
			request.Timeout, ok = seconds(value)
		case "after":
			var after int64
			after, ok = value.(int64)
			request.After, ok = uint64(after), ok && after >= 0
		case "inputs":
			request.Inputs, ok = inputs(value)
		default:
			into, known := texts[name]
			if !known {
				return request, incorrect("an execution has no %q", clip(name))
			}
			*into, ok = text(value)
		}
		if !ok {
			return request, incorrect("%s of an execution cannot be this %s", name, typeName(value))
		}
	}
	for _, name := range []string{"id", "component", "operation"} {
		if *texts[name] == "" {
			return request, incorrect("an execution needs %s", name)
		}
	}
	return request, nil
}

func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return "", false
}

// seconds takes any number that is no less than 0.
func seconds(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), v >= 0
	case float64:
		return v, v >= 0
	}
	return 0, false
}

func inputs(v any) (map[string]string, bool) {
	members, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	values := make(map[string]string, len(members))
	for name, member := range members {
		if values[name], ok = text(member); !ok {
			return nil, false
		}
	}
	return values, true
}
