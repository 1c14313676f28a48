package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

const good = `<!doctype html><html lang="en"><link rel="icon" href="data:,"><style>
html { background: #fff; color: #222 } button { width: 40px; height: 30px; margin: 5px } button:focus { outline: 2px solid #000 }
input { border: 1px solid #666 } .dim { color: #767676 } .box text { fill: #222 } .shape { fill: #fff }
</style><main><h1>Title</h1><h2>Part</h2><p class="dim">text <a href="#">here</a></p><button>a</button><button>b</button>
<input aria-label="field" placeholder="text"><svg width="200" height="60"><g class="box component" data-tone="ok"><rect class="shape" width="200" height="60"/><rect class="tone" width="5" height="60" fill="#15713f"/><text x="20" y="20">name</text></g></svg>
<div class="diagram"><svg width="200" height="60"><g class="edge"><path d="M10,50 H190" fill="none" stroke="#222"/><text class="line" x="20" y="40" font-size="11">label</text></g><rect x="100" y="5" width="50" height="20" fill="none" stroke="#222"/></svg></div>
</main>`

func TestLookSeesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ old, other, want string }{
		"nothing":           {"", "", ""},
		"dim text":          {"#767676", "#777", "contrast 4.48: p.dim"},
		"dim text in SVG":   {".box text { fill: #222", ".box text { fill: #999", "contrast 2.8"},
		"a dim field":       {"1px solid #666", "1px solid #aaa", "contrast 2.3"},
		"a dim placeholder": {"input {", "::placeholder { color: #999; opacity: 1 } input {", "of the placeholder"},
		"a dim bar":         {`fill="#15713f"`, `fill="#ccc"`, "contrast 1.6"},
		"too wide":          {"<h1>", `<p style="width: 900px">wide</p><h1>`, "pixels are beside the screen"},
		"small targets":     {"width: 40px; height: 30px; margin: 5px", "font-size: 8px; width: 12px; height: 12px; padding: 0; margin: 0", "hard to hit, 12 by 12"},
		"no h1":             {"<h1>Title</h1>", "", "there is no h1"},
		"a level left out":  {"<h2>Part</h2>", "<h3>Part</h3>", "h3 after h1"},
		"two mains":         {"</main>", "</main><main></main>", "2 main landmarks"},
		"text beside a box": {`<text x="20"`, `<text x="180"`, "beside its box"},
		"a label on a line": {`x="20" y="40"`, `x="20" y="52"`, `on a line: text.line "label"`},
		"a label in a box":  {`x="20" y="40"`, `x="110" y="20"`, `over another: text.line "label" and rect`},
		"text over text":    {`<text x="20"`, `<text x="40" y="18">other</text><text x="20"`, "over one another"},
	} {
		t.Run(name, func(t *testing.T) {
			page := strings.Replace(good, c.old, c.other, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
			t.Cleanup(server.Close) // after the window
			wrong := Ask[[]string](Open(t, server.URL, 320), lookScript)
			if c.want == "" && len(wrong) > 0 || c.want != "" && !slices.ContainsFunc(wrong, func(w string) bool { return strings.Contains(w, c.want) }) {
				t.Errorf("%q, want %q", wrong, c.want)
			}
		})
	}
}

func TestFocusThatCannotBeSeenIsFound(t *testing.T) {
	for css, seen := range map[string]bool{"button:focus { outline: 2px solid #000 }": true, "button:focus { outline: none }": false} {
		page := strings.Replace(good, "button:focus { outline: 2px solid #000 }", css, 1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
		t.Cleanup(server.Close) // after the window
		b := Open(t, server.URL, 320)
		b.Ask(`document.querySelector('button').focus()`)
		if at := Ask[focus](b, focusScript); at.What != "button a" || (at.Wrong == "") != seen {
			t.Errorf("%s: %+v", css, at)
		}
	}
}

func TestTheFontIsTheSameOnEveryMachine(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, good) }))
	t.Cleanup(server.Close) // after the window
	b := Open(t, server.URL, 320)
	// Of 1,000 pixels, Go's fonts have an m of 833 and of 600.
	for family, want := range map[string]int{"sans-serif": 833, "monospace": 600} {
		width := Ask[int](b, `(c => { c.font = '1000px `+family+`'; return Math.round(c.measureText('m').width) })(document.createElement('canvas').getContext('2d'))`)
		if width != want {
			t.Errorf("an m in %s is %d pixels wide, want %d", family, width, want)
		}
	}
}
