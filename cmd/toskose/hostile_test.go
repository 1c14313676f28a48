package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/manager/client"
)

// hostile is a manager whose every text is one that someone else has chosen.
type hostile struct{ text string }

// answers are what a manager answers with, by the end of the path.
var answers = map[string]func() any{
	"/app":        func() any { return new(client.App) },
	"/goal":       func() any { return new(client.Goal) },
	"/plan":       func() any { return new(client.Plan) },
	"/executions": func() any { return new(client.History) },
	"/node":       func() any { return new([]client.Node) },
	"/logs": func() any {
		return new(struct {
			Lines []client.LogLine `json:"lines"`
			Notes []client.LogLine `json:"notes"`
		})
	},
	"/events": func() any {
		return new(struct {
			Events []client.Event `json:"events"`
		})
	},
}

func (h hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for path, answer := range answers {
		if strings.HasSuffix(r.URL.Path, path) && r.URL.Query().Get("after") == "" {
			value := answer()
			h.fill(reflect.ValueOf(value).Elem(), 0)
			_ = json.NewEncoder(w).Encode(value)
			return
		}
	}
	w.WriteHeader(http.StatusConflict)
	_ = json.NewEncoder(w).Encode(client.Problem{Title: h.text, Status: http.StatusConflict, Detail: h.text})
}

// fill puts the text wherever a text can be.
func (h hostile) fill(v reflect.Value, depth int) {
	if depth > 8 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(h.text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		h.fill(v.Elem(), depth+1)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			h.fill(v.Index(0), depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		h.fill(key, depth+1)
		h.fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				h.fill(v.Field(i), depth+1)
			}
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(depth%2 == 0)
	default:
	}
}

// FuzzHostileManager has a manager write to the terminal: whatever it says, nothing but text
// arrives there, with line ends and tabs.
func FuzzHostileManager(f *testing.F) {
	for _, text := range []string{
		"\x1b[2J\x1b]0;title\x07", "\u202egnp.exe", "a\rb\bc\x00", "\u009b31m", "\xff\xfe", "\u2066x\u2069\u200f", "\x1bP+q\x1b\\", "100%\n\t{}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		server := httptest.NewServer(hostile{text})
		defer server.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		folder := packagedFolder(t)
		for _, command := range []string{
			"ps", "ps -o json", "goal", "goal -o json", "top --interval 1ms", "top --interval 1ms -o json", "history", "history x", "logs --tail 1", "logs -t --tail 1 -o json",
			"events", "events -o json", "plan", "wait --timeout 1ms", "run x start",
		} {
			var out bytes.Buffer
			run(ctx, append(strings.Fields(command), "--dir", folder, "--manager", server.URL), environment{out: &out, err: &out})
			if shown := out.String(); shown != visible.Lines(shown) {
				t.Errorf("%s with %q prints %q", command, text, shown)
			}
			if strings.Contains(out.String(), "unknown flag") || strings.Contains(out.String(), "unknown command") {
				t.Fatalf("%s: %s", command, out.String())
			}
		}
	})
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var received int
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received++ }))
	defer other.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, status)
		}))
		var out bytes.Buffer
		code := run(t.Context(), []string{"ps", "--dir", packagedFolder(t), "--manager", server.URL}, environment{out: &out, err: &out})
		server.Close()
		if code != 1 || received > 0 || !strings.Contains(out.String(), fmt.Sprintf("redirects to %q, which is not followed", other.URL+"/api/v1/app")) {
			t.Errorf("%d: exit %d, %d requests: %s", status, code, received, out.String())
		}
	}
}
