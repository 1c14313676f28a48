package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/api"
)

// served is a manager's API, served on the loopback.
type served struct{ *httptest.Server }

func serve(m *manager.App) (served, error) {
	gate, err := access.New(access.Options{First: user, Password: access.Always(password)})
	if err != nil {
		return served{}, err
	}
	handler, err := api.New(m, api.Options{Access: gate, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return served{}, err
	}
	return served{httptest.NewServer(handler)}, nil
}

// ask returns the response to a GET, or an error if it is not successful.
func (s served) ask(ctx context.Context, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.SetBasicAuth(user, password)
	answer, err := http.DefaultClient.Do(r)
	if err == nil && answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		err = fmt.Errorf("GET %s returned %s", path, answer.Status)
	}
	return answer, err
}

func (s served) get(path string) ([]byte, error) {
	answer, err := s.ask(context.Background(), path)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// follow calls a function with the kind and the data of each server-sent event, which
// may be empty, until it returns false.
func (s served) follow(ctx context.Context, path string, each func(kind, data []byte) bool) error {
	answer, err := s.ask(ctx, path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var kind, data []byte
	said := false
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		field, value, _ := bytes.Cut(lines.Bytes(), []byte(": "))
		switch string(field) {
		case "id":
			said = true
		case "event":
			kind, said = append(kind[:0], value...), true
		case "data":
			data, said = append(data[:0], value...), true
		default: // the end of an event, or a comment
			if said && len(lines.Bytes()) == 0 {
				if !each(kind, data) {
					return nil
				}
				kind, data, said = kind[:0], data[:0], false
			}
		}
	}
	return fmt.Errorf("the response to GET %s ended", path)
}
