package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
)

func failed(text, url string) *cdplog.EventEntryAdded {
	return &cdplog.EventEntryAdded{Entry: &cdplog.Entry{Level: cdplog.EntryLevelError, Source: cdplog.EntrySourceNetwork, Text: text, URL: url}}
}

func TestOnlyTheErrorsThatATestNamesAreRight(t *testing.T) {
	t.Parallel()
	const site = "http://127.0.0.1:80"
	refused := failed("Failed to load resource: the server responded with a status of 401 (Unauthorized)", site+"/api/v1/session?x=y")
	for name, c := range map[string]struct {
		events         []any
		expected, many []string
		want           []string
	}{
		"one that is named":             {[]any{refused}, []string{"401 /api/v1/session"}, nil, nil},
		"one that is not":               {[]any{refused}, nil, nil, []string{"401 /api/v1/session"}},
		"one too many":                  {[]any{refused, refused}, []string{"401 /api/v1/session"}, nil, []string{"401 /api/v1/session"}},
		"as many as come":               {[]any{refused, refused}, nil, []string{"401 /api/v1/session"}, nil},
		"those of some paths":           {[]any{refused, refused}, nil, []string{"401 /api/v1/*"}, nil},
		"not those of others":           {[]any{refused}, nil, []string{"401 /app/*"}, []string{"401 /api/v1/session", notCome + "401 /app/*"}},
		"none that comes":               {nil, []string{"401 /api/v1/session"}, []string{"net::ERR_FAILED /"}, []string{notCome + "401 /api/v1/session", notCome + "net::ERR_FAILED /"}},
		"another status":                {[]any{refused}, []string{"403 /api/v1/session"}, nil, []string{"401 /api/v1/session", notCome + "403 /api/v1/session"}},
		"a request to another host":     {[]any{&network.EventRequestWillBeSent{Request: &network.Request{URL: "http://127.0.0.1:8080/x"}}}, nil, nil, []string{"a request to http://127.0.0.1:8080/x"}},
		"requests to the page's own":    {[]any{&network.EventRequestWillBeSent{Request: &network.Request{URL: site + "/x"}}}, nil, nil, nil},
		"a network that changed, later": {[]any{failed("Failed to load resource: net::ERR_NETWORK_CHANGED", site+"/x")}, nil, nil, []string{"net::ERR_NETWORK_CHANGED /x"}},
	} {
		n := &notes{site: site, expected: c.expected, many: c.many}
		for _, e := range c.events {
			n.take(e)
		}
		if got := n.wrong(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	n := &notes{site: site, shared: true}
	n.take(failed("Failed to load resource: net::ERR_NETWORK_CHANGED", site+"/x"))
	if got := n.wrong(); len(got) > 0 || n.interruptions() != 1 {
		t.Errorf("in a network that others change: %q, %d interruptions", got, n.interruptions())
	}
}

func TestAPageIsLoadedAgainWhereTheNetworkChanged(t *testing.T) {
	t.Parallel()
	other := errors.New("page load error net::ERR_CONNECTION_REFUSED")
	for name, c := range map[string]struct {
		loads []any // an error, or what happens meanwhile
		times int
		want  error
	}{
		"at once":                  {[]any{nil}, 1, nil},
		"the third time":           {[]any{errors.New("page load error net::ERR_NETWORK_CHANGED"), failed("Failed to load resource: net::ERR_NETWORK_CHANGED", "/script"), nil}, 3, nil},
		"it never ended":           {[]any{hung(fmt.Errorf("loading: %w", context.DeadlineExceeded), true), nil}, 2, nil},
		"nobody changed it":        {[]any{hung(fmt.Errorf("loading: %w", context.DeadlineExceeded), false), nil}, 1, context.DeadlineExceeded},
		"another error is one":     {[]any{other, nil}, 1, other},
		"what misses is another's": {[]any{failed("Failed to load resource: net::ERR_FAILED", "/script"), nil}, 1, nil},
	} {
		n, times := &notes{}, 0
		err := n.unchanged(func() error {
			times++
			if err, is := c.loads[times-1].(error); is {
				return err
			}
			n.take(c.loads[times-1])
			return nil
		})
		if times != c.times || !errors.Is(err, c.want) {
			t.Errorf("%s: %d times, %v", name, times, err)
		}
		for _, w := range n.wrong() {
			if w != "net::ERR_FAILED /script" {
				t.Errorf("%s: %s is left", name, w)
			}
		}
	}
}

// TestAnAddressWithAFragmentIsLoadedEachTime: without leaving the page, a browser would only move within it.
func TestAnAddressWithAFragmentIsLoadedEachTime(t *testing.T) {
	var loaded atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			loaded.Add(1)
			_, _ = io.WriteString(w, "<!doctype html><title>page</title><p id=a>a")
		}
	}))
	t.Cleanup(server.Close) // after the window
	b := Open(t, server.URL+"/#/a", 320)
	before := loaded.Load()
	b.load(visit(server.URL + "/#/a"))
	if again := loaded.Load(); before == 0 || again <= before {
		t.Errorf("the page was loaded %d times at first, and %d in all", before, again)
	}
}

func TestTheFocusThatIsTrappedIsFound(t *testing.T) {
	const trap = `<!doctype html><style>:focus { outline: 2px solid #000 }</style><button>a</button><button>b</button><button id="c">c</button><script>
document.getElementById('c').onkeydown = e => { e.preventDefault(); document.querySelectorAll('button')[1].focus(); }</script>`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			_, _ = io.WriteString(w, trap)
		}
	}))
	t.Cleanup(server.Close) // after the window
	says := &mute{TB: t}
	b := Open(t, server.URL, 320)
	b.t = says
	if all := b.Focused(10); len(all) != 3 || says.errors != 1 {
		t.Errorf("%q, %d errors", all, says.errors)
	}
}

// mute counts errors.
type mute struct {
	testing.TB
	errors int
}

func (m *mute) Errorf(string, ...any) { m.errors++ }
