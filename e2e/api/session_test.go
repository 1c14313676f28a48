package api_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// browser has what signing in gave it.
type browser struct {
	*http.Cookie
	key string
}

// signedIn signs a browser in.
func signedIn(t *testing.T, h http.Handler, change func(*http.Request)) *browser {
	t.Helper()
	r := request(http.MethodPost, "/api/v1/session", "")
	change(r)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusCreated || len(cookies) != 1 || strings.Contains(w.Body.String(), cookies[0].Value) {
		t.Fatalf("%d %v\n%s", w.Code, cookies, w.Body)
	}
	var session struct{ Key string }
	if err := json.Unmarshal(w.Body.Bytes(), &session); err != nil || session.Key == "" {
		t.Fatalf("there is no key: %s, %v", w.Body, err)
	}
	return &browser{cookies[0], session.Key}
}

func withCookie(h http.Handler, method, path string, c *browser, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, http.NoBody)
	r.Host = "manager:10000"
	r.AddCookie(c.Cookie)
	if c.key != "" {
		r.Header.Set("Toskose-Session-Key", c.key)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func at(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }

func TestABrowserSignsIn(t *testing.T) {
	t.Parallel()
	h := behind(t, fresh(t), &app{}) // wrong tokens count
	c := signedIn(t, h, at("manager:10000"))
	if c.Name != "toskose-10000" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" || c.MaxAge != 3600 {
		t.Errorf("%+v", c)
	}
	if safe := signedIn(t, h, func(r *http.Request) { r.TLS = &tls.ConnectionState{} }); !safe.Secure {
		t.Errorf("over TLS: %+v", safe)
	}
	token := newToken(t, h, "operator-1")
	byToken := signedIn(t, h, func(r *http.Request) {
		r.Host = "manager:10000"
		r.Header.Set("Authorization", "Bearer "+token)
	})
	signature := token[strings.LastIndex(token, "."):]
	if byToken.Name != c.Name || strings.Contains(byToken.Value, signature) || byToken.MaxAge < 3500 || byToken.MaxAge > 3600 || !byToken.HttpOnly || byToken.SameSite != http.SameSiteStrictMode {
		t.Errorf("with a token: %+v", byToken)
	}
	if w := withCookie(h, "GET", "/api/v1/session", byToken); w.Code != 200 || !strings.Contains(w.Body.String(), `"operator-1"`) || !strings.Contains(w.Body.String(), `"operator"`) {
		t.Errorf("who signed in with a token: %d %s", w.Code, w.Body)
	}
	for _, c := range []struct {
		what, method, path string
		cookie             *browser
		headers            []string
		want               int
	}{
		{"reads", "GET", "/api/v1/app", c, nil, 200},
		{"reads without its key, as from another port", "GET", "/api/v1/app", &browser{Cookie: c.Cookie}, nil, 401},
		{"reads with the key of another session", "GET", "/api/v1/app", &browser{c.Cookie, byToken.key}, nil, 401},
		{"follows events without its key", "GET", "/api/v1/events", &browser{Cookie: c.Cookie}, nil, 401},
		{"is who signed in", "GET", "/api/v1/session", c, nil, 200},
		{"acts", "POST", "/api/v1/node/reload", c, []string{"Sec-Fetch-Site: same-origin"}, 200},
		{"acts from another site", "POST", "/api/v1/node/reload", c, []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"acts from another port", "POST", "/api/v1/node/reload", c, []string{"Origin: http://manager:9999"}, 403},
		{"stays for ever", "POST", "/api/v1/session", c, nil, 403},
		{"stays for ever by a token", "POST", "/api/v1/session", byToken, nil, 403},
		{"makes a token", "POST", "/api/v1/tokens", c, nil, 403},
		{"makes a token by a token", "POST", "/api/v1/tokens", byToken, nil, 403},
		{"does what the token's role does not allow", "POST", "/api/v1/node/reload", byToken, []string{"Sec-Fetch-Site: same-origin"}, 403},
		{"has the token itself in the cookie", "GET", "/api/v1/app", &browser{&http.Cookie{Name: c.Name, Value: token}, c.key}, nil, 401},
		{"shows the session as a token", "GET", "/api/v1/app", &browser{&http.Cookie{Name: "other", Value: "x"}, c.key}, []string{bearer(c.Value)}, 401},
		{"signs in with the session as a token", "POST", "/api/v1/session", &browser{&http.Cookie{Name: "other", Value: "x"}, c.key}, []string{bearer(c.Value)}, 401},
		{"is somebody else by a header", "GET", "/api/v1/app", c, []string{"Authorization: Bearer x"}, 401},
		{"has a cookie of its own making", "GET", "/api/v1/app", &browser{&http.Cookie{Name: c.Name, Value: c.Value + "x"}, c.key}, nil, 401},
		{"has that of another port", "GET", "/api/v1/app", &browser{&http.Cookie{Name: "toskose-10001", Value: c.Value}, c.key}, nil, 401},
	} {
		w := withCookie(h, c.method, c.path, c.cookie, c.headers...)
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d\n%s", c.what, w.Code, c.want, w.Body)
		}
	}
	out := withCookie(h, http.MethodDelete, "/api/v1/session", c)
	if gone := out.Result().Cookies(); out.Code != 200 || len(gone) != 1 || gone[0].Name != c.Name || gone[0].MaxAge >= 0 || gone[0].Value != "" {
		t.Errorf("%d %v", out.Code, gone)
	}
	if w := withCookie(h, "GET", "/api/v1/app", c); w.Code != 401 {
		t.Errorf("after signing out the session is good: %d", w.Code)
	}
}

// What is typed into the page may be guessed there: it counts, and is written down.
func TestSigningInWithATokenIsCountedAndWrittenDown(t *testing.T) {
	t.Parallel()
	h, audit, _ := audited(t, &app{})
	token := newToken(t, h, "operator-1")
	audit.take()
	line := func() string { // what tells it from others
		return strings.Join(regexp.MustCompile(`"(user|role|by|status)":("[^"]*"|\d+)`).FindAllString(audit.take(), -1), " ")
	}
	c := signedIn(t, h, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
	if got := line(); got != `"user":"operator-1" "role":"operator" "by":"token" "status":201` {
		t.Error(got)
	}
	if w := withCookie(h, "POST", "/api/v1/node/reload", &browser{&http.Cookie{Name: "toskose-10000", Value: c.Value}, c.key}, "Sec-Fetch-Site: same-origin"); w.Code != 403 {
		t.Errorf("%d", w.Code)
	}
	if got := line(); got != `"user":"operator-1" "role":"operator" "by":"session" "status":403` {
		t.Error(got)
	}
	for n := range 7 {
		w := as(h, "", "POST", "/api/v1/session", bearer(fmt.Sprint("wrong ", n)))
		want := 401
		if n >= 5 {
			want = 429
		}
		if w.Code != want || (w.Header().Get("Retry-After") != "") != (want == 429) || len(w.Result().Cookies()) > 0 {
			t.Errorf("guess %d: %d %v", n, w.Code, w.Header())
		}
		if got := line(); got != fmt.Sprintf(`"status":%d`, want) {
			t.Error(got)
		}
	}
	if w := as(h, "", "POST", "/api/v1/session/", bearer(token)); w.Code != 201 {
		t.Errorf("the right one: %d", w.Code)
	}
	if w := as(h, "", "GET", "/api/v1/app", bearer("wrong again")); w.Code != 401 {
		t.Errorf("a program's wrong token: %d", w.Code)
	}
}

// A browser would ask for a password in a window of its own.
func TestThePageAsksForThePasswordItself(t *testing.T) {
	t.Parallel()
	h := handler(t, &app{})
	for header, asks := range map[string]bool{"Toskose-Page: 1": false, "Accept: */*": true} {
		w := as(h, "", "GET", "/api/v1/app", header)
		if w.Code != 401 || (w.Header().Get("WWW-Authenticate") != "") != asks {
			t.Errorf("with %s: %d %v", header, w.Code, w.Header())
		}
	}
}
