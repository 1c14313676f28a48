// Package browser provides a real browser for tests: Debian's chromium, one process for all
// tests of a package, with a window with separate cookies for each test. For tests only.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
)

// patience is how long the browser may take for one thing on a machine that is busy.
const patience = time.Minute

// inside is the variable that marks a process in its own network namespace.
const inside = "TOSKOSE_TEST_NETWORK"

// Window is a browser window. It records the errors of its page.
type Window struct {
	t   testing.TB
	ctx context.Context
	url string

	notes notes
}

// process is the browser, which starts with its first window and ends with Close.
var process struct {
	sync.Mutex
	ctx   context.Context
	end   context.CancelFunc
	fonts string // folder
}

// Main runs the tests of a package, then ends the browser. If permitted, it runs them in a
// separate network namespace: a browser drops its connections when network interfaces are added or
// removed, as containers started beside these tests do.
func Main(m *testing.M) {
	code, done := alone()
	if !done {
		code = m.Run()
		Close()
	}
	os.Exit(code) //nolint:revive // it stands for main
}

// Close ends the browser, if it runs.
func Close() {
	if process.end != nil {
		process.end()
		os.RemoveAll(process.fonts)
	}
}

func start(t testing.TB) context.Context {
	t.Helper()
	process.Lock()
	defer process.Unlock()
	if process.ctx != nil {
		return process.ctx
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Flag("headless", "new"),
		chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(patience),
	}
	if os.Getenv("TOSKOSE_PICTURES") == "" && os.Getenv("TOSKOSE_VIEWS") == "" { // a person looks at pictures
		if process.fonts, err = os.MkdirTemp("", "toskose-fonts-"); err != nil { //nolint:usetesting // the browser outlives the test
			t.Fatal(err)
		}
		variable, err := writeFonts(process.fonts)
		if err != nil {
			t.Fatal(err)
		}
		options = append(options, chromedp.Env(variable))
	}
	ctx, end := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(options...))
	if err := chromedp.Do(ctx); err != nil {
		end()
		t.Fatal(err)
	}
	process.ctx, process.end = ctx, end
	return ctx
}

// Open opens a window of the given width at a page. expected are the permitted browser errors: see
// Expect.
func Open(t testing.TB, url string, width int64, expected ...string) *Window {
	t.Helper()
	site, _, _ := strings.Cut(url, "/#")
	b := &Window{t: t, url: strings.TrimSuffix(site, "/")}
	b.notes.site, b.notes.shared = b.url, os.Getenv(inside) == ""
	b.Expect(expected...)
	ctx, end := chromedp.NewContext(start(t), chromedp.WithNewBrowserContext(), chromedp.WithListener(b.notes.take))
	t.Cleanup(end)
	b.ctx = ctx
	if err := chromedp.Do(ctx); err != nil { // opens it, to live as long as the test
		t.Fatal(err)
	}
	b.call(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, cdplog.Enable, cdp.Empty{})
		return err
	})
	t.Cleanup(func() {
		Ask[bool](b, `true`) // the page's earlier messages arrive before the answer
		for _, w := range b.notes.wrong() {
			t.Errorf("the page: %s", w)
		}
	})
	b.do(chromedp.EmulateViewport(width, height))
	b.load(visit(url))
	return b
}

// visit returns a function that loads a page each time it is called: navigation to the address that a window already shows
// loads nothing if the address has a fragment.
func visit(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		return chromedp.Do(ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(url))
	}
}

// load loads a page. In a shared network namespace, it retries if a network interface changed
// meanwhile, as other tests' containers cause that, and waits until the page's scripts have run.
func (b *Window) load(how func(context.Context) error) {
	b.t.Helper()
	limit, shared := patience, os.Getenv(inside) == ""
	if shared {
		limit /= 3
	}
	err := b.notes.unchanged(func() error {
		ctx, cancel := context.WithTimeout(b.ctx, limit)
		defer cancel()
		err := how(ctx)
		if err == nil && shared { // one of its scripts may have been lost without a word
			err = chromedp.Do(ctx, chromedp.Poll[chromedp.Void](drawn, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(limit)))
		}
		return hung(err, shared)
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// drawn reports whether the manager's page has begun; it does of any other page.
const drawn = `!document.querySelector('#page > .waiting')`

// hung explains the error of a load that did not end: a change of a network that is shared
// with others may leave it without one.
func hung(err error, shared bool) error {
	if shared && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, chromedp.ErrPollingTimeout)) {
		return fmt.Errorf("%w, perhaps by %s", err, networkChanged)
	}
	return err
}

func (b *Window) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%v\n%s", err, Ask[string](b, `document.body.innerText`))
	}
}

func (b *Window) call(f func(context.Context, *chromedp.Target) error) {
	b.t.Helper()
	b.do(chromedp.Func(f))
}

// Ask evaluates an expression in the page.
func Ask[T any](b *Window, expression string) T {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Errorf("%s: %v", expression, err)
	}
	return value
}

// Await waits until a condition of the page's holds.
func (b *Window) Await(condition string) {
	b.t.Helper()
	b.do(chromedp.Poll[chromedp.Void](condition, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience)))
}

// Says waits until an element has a text.
func (b *Window) Says(selector, text string) {
	b.t.Helper()
	b.Await(fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.textContent.includes(%q))`, selector, text))
}

func (b *Window) Click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// SignIn fills in the form and sends it, again if a network interface changed meanwhile.
func (b *Window) SignIn(user, password string) {
	b.t.Helper()
	for attempts := 1; ; attempts++ {
		before := b.notes.interruptions()
		b.do(
			chromedp.WaitVisible(chromedp.CSS("form.signin")),
			chromedp.SetValue(chromedp.CSS("input[name=user]"), user),
			chromedp.SendKeys(chromedp.CSS("input[name=password]"), password),
			chromedp.Click(chromedp.CSS("form.signin button")),
		)
		if os.Getenv(inside) != "" {
			return
		}
		b.Await(`!document.querySelector('form.signin') || document.querySelector('form.signin .refused').textContent`)
		if attempts == 10 || b.notes.interruptions() == before || Ask[bool](b, `!document.querySelector('form.signin')`) {
			return
		}
	}
}

// SignInWithToken signs in with a token of the API instead of a password.
func (b *Window) SignInWithToken(token string) {
	b.t.Helper()
	b.do(
		chromedp.WaitVisible(chromedp.CSS("form.signin input[name=token]")),
		chromedp.SendKeys(chromedp.CSS("input[name=token]"), token),
		chromedp.Click(chromedp.CSS("form.signin button")),
	)
}

// Picture takes a picture of the window. TOSKOSE_PICTURES is the folder that keeps it.
func (b *Window) Picture(name string) {
	b.t.Helper()
	folder := os.Getenv("TOSKOSE_PICTURES")
	if folder == "" {
		return
	}
	b.shoot(filepath.Join(folder, name+".png"))
}

func (b *Window) GoTo(hash string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`void (location.hash = %q)`, hash)))
}

// Push clicks the button of an operation once it may be clicked.
func (b *Window) Push(operation string) {
	b.t.Helper()
	b.ClickText(".operation button.main", operation)
}

// ClickText clicks the element that has just this text, once it is there.
func (b *Window) ClickText(selector, text string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find(e => !e.disabled && e.textContent === %q)`, selector, text)
	b.Await("!!" + find)
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("void %s.click()", find)))
}

// Dark emulates the preference for dark mode.
func (b *Window) Dark() {
	b.t.Helper()
	b.Prefer("prefers-color-scheme", "dark")
}

// Named fails where the browser's own accessibility tree has something to use, or a
// picture, without a name.
func (b *Window) Named() {
	b.t.Helper()
	where := Ask[string](b, "location.hash")
	b.call(func(ctx context.Context, tab *chromedp.Target) error {
		tree, err := cdp.Call(ctx, tab, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			return err
		}
		found := 0
		for _, n := range tree.Nodes {
			if n.Ignored || n.Role == nil {
				continue
			}
			switch role := fmt.Sprint(n.Role.Value); strings.Trim(role, `"`) {
			case "button", "link", "textbox", "searchbox", "combobox", "checkbox", "image", "img", "log", "form", "navigation", "progressbar", "complementary":
				found++
				if n.Name == nil || strings.Trim(fmt.Sprint(n.Name.Value), `" `) == "" {
					b.t.Errorf("a %s without a name in %s", role, where)
				}
			}
		}
		if found == 0 {
			b.t.Error("the accessibility tree is empty")
		}
		return nil
	})
}

// Ask evaluates an expression for its side effects.
func (b *Window) Ask(expression string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void]("void (" + expression + ")"))
}

// Reload loads the page again.
func (b *Window) Reload() {
	b.t.Helper()
	b.load(func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.Reload()) })
}
