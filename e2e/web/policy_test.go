//go:build !windows

package web_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toskose/toskose/e2e/browser"
)

func quoted(text string) string { return strconv.Quote(text) }

// What a page is made to do by what it should not have taken in, the browser does not do.
func TestTheBrowserForbidsWhatThePageMayNotDo(t *testing.T) {
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	defer other.Close()
	world := newThinking(t)
	b := browser.Open(t, world.URL, 1280, nobody)
	b.SignIn("admin", "pw")
	b.Says("[data-box=api]", "not created")
	const forbidden = `new Promise(done => {
		addEventListener('securitypolicyviolation', e => done(e.effectiveDirective + ' ' + e.blockedURI), {once: true});
		const make = (tag, properties) => document.body.append(Object.assign(document.createElement(tag), properties));
		const other = 'OTHER/';
		DO;
		setTimeout(() => done('is done'), 5000);
	})`
	b.ExpectMany("a request to "+other.URL+"/", "policy") // which browsers speak of, and do not send
	for what, c := range map[string]struct{ do, want, noted string }{
		"an inline script":        {`make('script', {textContent: 'window.ran = true'})`, "script-src-elem inline", "policy script-src"},
		"a handler in HTML":       {`document.body.setAttribute('onclick', 'window.ran = true'), document.body.click()`, "script-src-attr inline", "policy script-src"},
		"an inline style":         {`make('style', {textContent: 'body { color: red }'})`, "style-src-elem inline", "policy style-src"},
		"a style in HTML":         {`document.body.setAttribute('style', 'color: red')`, "style-src-attr inline", "policy style-src"},
		"another's script":        {`make('script', {src: other})`, "script-src-elem OTHER", "policy script-src"},
		"another's style":         {`make('link', {rel: 'stylesheet', href: other})`, "style-src-elem OTHER", "policy style-src"},
		"another's picture":       {`make('img', {src: other})`, "img-src OTHER", "policy img-src"},
		"a request to another":    {`fetch(other).catch(() => 0)`, "connect-src OTHER", "policy connect-src"},
		"a page of another in it": {`make('iframe', {src: other})`, "frame-src OTHER", "policy default-src"},
		"another base":            {`make('base', {href: other})`, "base-uri OTHER", "policy base-uri"},
	} {
		b.ExpectMany(c.noted)
		got := browser.Ask[string](b, strings.NewReplacer("DO", c.do, "OTHER", other.URL).Replace(forbidden))
		if want := strings.ReplaceAll(c.want, "OTHER", other.URL+"/"); strings.TrimSuffix(got, "/") != strings.TrimSuffix(want, "/") {
			t.Errorf("%s: %q, not %q", what, got, want)
		}
	}
	if browser.Ask[bool](b, `!!window.ran || getComputedStyle(document.body).color === 'rgb(255, 0, 0)'`) {
		t.Error("what is inline had an effect")
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("another host was asked %d times", n)
	}
}
