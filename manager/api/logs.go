package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

func (h logHandlers) getLog(r *http.Request) (reply, error) {
	req, err := logRequest(r)
	if err != nil {
		return reply{}, err
	}
	logs, err := h.app.Log(r.Context(), param(r, "node"), param(r, "component"), param(r, "operation"), replicaOf(r), req)
	return logReply(r, logs), err
}

func (h logHandlers) clearLog(r *http.Request) (reply, error) {
	results, err := h.app.ClearLog(r.Context(), param(r, "node"), param(r, "component"), param(r, "operation"), replicaOf(r))
	return resultsReply(results), err
}

func (h logHandlers) getUnitLog(r *http.Request) (reply, error) {
	req, err := logRequest(r)
	if err != nil {
		return reply{}, err
	}
	logs, err := h.app.UnitLog(r.Context(), param(r, "node"), replicaOf(r), req)
	return logReply(r, logs), err
}

func (h logHandlers) clearUnitLog(r *http.Request) (reply, error) {
	results, err := h.app.ClearUnitLog(r.Context(), param(r, "node"), replicaOf(r))
	return resultsReply(results), err
}

// logRequest reads std_type, tail, offset and length.
func logRequest(r *http.Request) (manager.LogRequest, error) {
	query := r.URL.Query()
	req := manager.LogRequest{Stream: wire.Stream(query.Get("std_type"))}
	if !query.Has("std_type") {
		req.Stream = wire.Stdout
	}
	var offset int64
	for name, field := range map[string]*int64{"tail": &req.Tail, "offset": &offset, "length": &req.Length} {
		if !query.Has(name) {
			continue
		}
		n, err := strconv.ParseInt(query.Get(name), 10, 64)
		if err != nil {
			return req, &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf("%s=%q is not a number of bytes", name, query.Get(name))}
		}
		*field = n
	}
	if query.Has("offset") {
		req.Offset = &offset
	}
	return req, nil
}

// logReply responds in plain text if requested, with a heading for each replica if there are several.
func logReply(r *http.Request, logs []rest.Log) reply {
	if !strings.HasPrefix(r.Header.Get("Accept"), "text/plain") {
		return reply{body: map[string]any{"logs": logs}, header: map[string]string{"Vary": "Accept"}}
	}
	var text strings.Builder
	for _, l := range logs {
		if len(logs) > 1 {
			fmt.Fprintf(&text, "==> %s <==\n", l.Replica)
		}
		if l.Problem != "" {
			fmt.Fprintf(&text, "(%s)\n", l.Problem)
		}
		text.WriteString(l.Text)
	}
	return reply{body: text.String(), header: map[string]string{"Vary": "Accept"}}
}
