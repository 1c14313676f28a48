package browser

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

// networkChanged is the error of a request during which a network interface was added or removed.
const networkChanged = "net::ERR_NETWORK_CHANGED"

// notes records errors of a page: console errors and requests to other sites, except those that a
// test expects.
type notes struct {
	site   string
	shared bool // the network namespace, with others that change it

	mu       sync.Mutex
	noted    []string
	expected []string // may be as often as they are here
	many     []string // may be often
}

// Expect expects errors that a test provokes, each once: "401 /api/v1/session" is a response,
// "net::ERR_FAILED /api/v1/app" a request without a response, "policy img-src" a violation of the
// page's content security policy. An expected error that does not occur is an error, too.
func (b *Window) Expect(all ...string) {
	b.notes.mu.Lock()
	defer b.notes.mu.Unlock()
	b.notes.expected = append(b.notes.expected, all...)
}

// ExpectMany expects errors that occur once or more, as on a page that retries. A star at the end
// matches any suffix: "net::ERR_EMPTY_RESPONSE /api/v1/*".
func (b *Window) ExpectMany(all ...string) {
	b.notes.mu.Lock()
	defer b.notes.mu.Unlock()
	b.notes.many = append(b.notes.many, all...)
}

// take records an event if it is an error.
func (n *notes) take(event any) {
	var wrong string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		wrong = fmt.Sprintf("%+v", e.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			wrong = fmt.Sprintf("console: %s", e.Args[0].Value)
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError {
			wrong = n.called(e.Entry)
		}
	case *network.EventRequestWillBeSent:
		if !n.here(e.Request.URL) && !strings.HasPrefix(e.Request.URL, "data:") {
			wrong = "a request to " + e.Request.URL
		}
	}
	if wrong != "" {
		n.mu.Lock()
		n.noted = append(n.noted, wrong)
		n.mu.Unlock()
	}
}

// here reports whether an address is of the page's own site.
func (n *notes) here(address string) bool {
	return address == n.site || strings.HasPrefix(address, n.site+"/")
}

var (
	answered = regexp.MustCompile(`status of (\d+)`)
	noAnswer = regexp.MustCompile(`net::ERR_[A-Z_]+`)
	policy   = regexp.MustCompile(`(?s)Content Security Policy(?: directive:? ["']([a-z-]+))?`)
)

// called is how tests call an error.
func (n *notes) called(e *cdplog.Entry) string {
	path := e.URL
	if u, err := url.Parse(e.URL); err == nil && n.here(e.URL) {
		path = u.Path
	}
	if e.Source == cdplog.EntrySourceNetwork {
		if found := answered.FindStringSubmatch(e.Text); found != nil {
			return found[1] + " " + path
		}
		if found := noAnswer.FindString(e.Text); found != "" {
			if found == "net::ERR_SOCKET_NOT_CONNECTED" { // the same, seen a moment earlier
				found = "net::ERR_EMPTY_RESPONSE"
			}
			return found + " " + path
		}
	}
	if found := policy.FindStringSubmatch(e.Text); found != nil {
		return strings.TrimSpace("policy " + found[1])
	}
	return fmt.Sprintf("console: %s (%s)", e.Text, e.URL)
}

const notCome = "expected, and has not come: "

// wrong returns the unexpected errors, and the expected errors that did not occur.
func (n *notes) wrong() (all []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	left := slices.Clone(n.expected)
	for _, what := range n.noted {
		if n.shared && strings.HasPrefix(what, networkChanged) { // the page requests it again
			continue
		}
		if i := slices.Index(left, what); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		if slices.ContainsFunc(n.many, func(many string) bool { return like(what, many) }) {
			continue
		}
		all = append(all, what)
	}
	for _, what := range n.many {
		if !slices.ContainsFunc(n.noted, func(noted string) bool { return like(noted, what) }) {
			left = append(left, what)
		}
	}
	for _, what := range left {
		all = append(all, notCome+what)
	}
	return all
}

func like(noted, expected string) bool {
	start, open := strings.CutSuffix(expected, "*")
	return noted == expected || open && strings.HasPrefix(noted, start)
}

// interruptions returns how many requests ended because a network interface changed.
func (n *notes) interruptions() (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, what := range n.noted {
		if strings.HasPrefix(what, networkChanged) {
			count++
		}
	}
	return count
}

// unchanged repeats do until no network change occurs during it, and discards the errors of
// interrupted attempts.
func (n *notes) unchanged(do func() error) error {
	for attempts := 1; ; attempts++ {
		n.mu.Lock()
		before := len(n.noted)
		n.mu.Unlock()
		err := do()
		n.mu.Lock()
		changed := err != nil && strings.Contains(err.Error(), networkChanged) ||
			slices.ContainsFunc(n.noted[before:], func(what string) bool { return strings.HasPrefix(what, networkChanged+" ") })
		if !changed || attempts == 10 {
			n.mu.Unlock()
			return err
		}
		n.noted = n.noted[:before]
		n.mu.Unlock()
	}
}
