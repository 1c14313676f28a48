package scripts

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"html"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

const module = "github.com/toskose/toskose/"

// imports returns, for each package used in production, the packages of this module that it
// imports.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string]map[string]bool{}
	left := []string{"build", "bin", "scripts", "e2e", "examples", "testdata", "internal/freeport", "internal/suggest", "internal/visible", "internal/leak", "internal/testunit"}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(name, ".."), string(filepath.Separator)))
		if d.IsDir() {
			if slices.Contains(left, rel) || slices.Contains(left, d.Name()) || strings.HasPrefix(d.Name(), ".") && name != ".." {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(rel) != ".go" || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		of := path.Dir(rel)
		if all[of] == nil {
			all[of] = map[string]bool{}
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			// Many packages import internal/suggest and internal/visible; arrows to them would hide the others.
			if imported, ok := strings.CutPrefix(imported, module); ok && !strings.HasPrefix(imported, "internal/") {
				all[of][imported] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sorted := map[string][]string{}
	for of, imported := range all {
		sorted[of] = slices.Sorted(maps.Keys(imported))
	}
	for of := range sorted { // separate packages contain test drivers
		if !strings.HasPrefix(of, "cmd/") && !slices.ContainsFunc(slices.Collect(maps.Values(sorted)), func(i []string) bool { return slices.Contains(i, of) }) {
			delete(sorted, of)
		}
	}
	return sorted
}

// rooms are the columns of the picture, from left to right.
var rooms = []string{"operator", "packager", "tosca", "spec", "manager", "unit"}

// group is a box of the picture: packages with one subject. A member that ends with /... includes the packages below it.
type group struct {
	room    int
	name    string
	members []string
}

// groups are the boxes. A package that is in none has a box of its own, in the room of its top folder.
var groups = []group{
	{0, "the binary", []string{"cmd/toskose-operator"}},
	{0, "controllers", []string{"operator/controller"}},
	{0, "levels and manifests", []string{"operator/levels", "operator/manifests"}},
	{1, "command line", []string{"cmd/toskose/..."}},
	{1, "deploying", []string{"packager/deploy/..."}},
	{1, "releases and data", []string{"packager/release", "packager/lock", "packager/rotate", "packager/volumes/...", "packager/running", "packager/conflict", "packager/command"}},
	{1, "attaching", []string{"packager/attach"}},
	{1, "images", []string{"packager/image/..."}},
	{1, "manifests", []string{"packager/compose", "packager/kubernetes", "packager/output"}},
	{1, "the plan", []string{"packager", "packager/config", "templates"}},
	{1, "drawings", []string{"graph"}},
	{1, "clusters of machines", []string{"edge/..."}},
	{2, "the application", []string{"tosca"}},
	{2, "TOSCA's rules", []string{"tosca/internal/..."}},
	{2, "archives, diagnostics", []string{"tosca/csar", "tosca/diag/..."}},
	{3, "the model", []string{"spec/..."}},
	{4, "the binary", []string{"cmd/toskose-manager", "manager/legacy"}},
	{4, "the API and the page", []string{"manager/api", "manager/openapi", "manager/web", "manager/httpserver", "manager/idempotency", "manager/metrics"}},
	{4, "who may do what", []string{"manager/access", "manager/users", "manager/audit"}},
	{4, "the application", []string{"manager", "manager/attach", "manager/removed", "manager/traces"}},
	{4, "clients", []string{"manager/client"}},
	{4, "requests and views", []string{"manager/fleet", "manager/logs", "manager/view", "manager/rest", "manager/topology", "manager/series"}},
	{4, "the goal", []string{"manager/goal", "manager/keep", "manager/signature"}},
	{4, "what units report", []string{"manager/mirror", "manager/discovery", "manager/unitclient", "manager/reason"}},
	{5, "the binary", []string{"cmd/toskose-unit"}},
	{5, "the container", []string{"unit", "unit/rpc"}},
	{5, "components", []string{"unit/component", "unit/process"}},
	{5, "processes", []string{"unit/reaper", "unit/proctree", "unit/ready", "unit/events", "unit/sigaction", "unit/limits/..."}},
	{5, "files", []string{"unit/journal", "unit/documents", "unit/logs", "unit/safepath"}},
	{5, "configuration", []string{"unit/config"}},
	{5, "the wire", []string{"unit/wire"}},
}

// has reports whether a package belongs to a group.
func (g group) has(pkg string) bool {
	return slices.ContainsFunc(g.members, func(member string) bool {
		below, all := strings.CutSuffix(member, "/...")
		return pkg == below || all && strings.HasPrefix(pkg, below+"/")
	})
}

// groupOf returns the group of a package.
func groupOf(pkg string) group {
	if i := slices.IndexFunc(groups, func(g group) bool { return g.has(pkg) }); i >= 0 {
		return groups[i]
	}
	top, _, _ := strings.Cut(pkg, "/")
	return group{slices.Index(rooms, top), pkg, []string{pkg}}
}

// key identifies a group: two rooms may have groups with one name.
func (g group) key() string { return strconv.Itoa(g.room) + " " + g.name }

// between returns the groups, and which of them each one imports.
func between(packages map[string][]string) (all map[string]group, imports map[string][]string) {
	all, imports = map[string]group{}, map[string][]string{}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		from := groupOf(pkg)
		if _, ok := all[from.key()]; !ok {
			all[from.key()], imports[from.key()] = group{from.room, from.name, nil}, nil
		}
		g := all[from.key()]
		g.members = append(g.members, pkg)
		all[from.key()] = g
		for _, imported := range packages[pkg] {
			if to := groupOf(imported).key(); to != from.key() && !slices.Contains(imports[from.key()], to) {
				imports[from.key()] = append(imports[from.key()], to)
			}
		}
	}
	return all, imports
}

// floors returns the distance of each group below the commands. It is greater than the distance of every
// group that imports it.
func floors(all map[string]group, imports map[string][]string) map[string]int {
	floor := map[string]int{}
	var sink func(name string, to int)
	sink = func(name string, to int) {
		if at, ok := floor[name]; ok && at >= to {
			return
		}
		if to > len(all) {
			panic("groups of packages import each other: " + name)
		}
		floor[name] = to
		for _, imported := range imports[name] {
			sink(imported, to+1)
		}
	}
	for name := range imports {
		sink(name, 0)
	}
	for f := 0; f <= slices.Max(slices.Collect(maps.Values(floor))); f++ {
		for r := range rooms {
			var row []string
			for _, name := range slices.Sorted(maps.Keys(imports)) {
				if floor[name] == f && all[name].room == r {
					row = append(row, name)
				}
			}
			// Groups with the fewest imports move down first.
			slices.SortStableFunc(row, func(a, b string) int { return len(imports[b]) - len(imports[a]) })
			for _, name := range row[min(len(row), abreast):] {
				sink(name, f+1)
			}
		}
	}
	return floor
}

// reaches reports whether from imports to through another group.
func reaches(imports map[string][]string, from, to string) bool {
	return slices.ContainsFunc(imports[from], func(by string) bool {
		return by != to && (slices.Contains(imports[by], to) || reaches(imports, by, to))
	})
}

const (
	abreast            = 2 // groups of a room on one floor
	boxWidth           = 160
	lineHeight         = 15
	gapX, gapY, margin = 12, 30, 8
)

// linesOf returns the names of a group's packages, in lines that fit into its box.
func linesOf(g group) []string {
	lines := []string{""}
	for _, pkg := range g.members {
		name := path.Base(pkg)
		switch last := &lines[len(lines)-1]; {
		case *last == "":
			*last = name
		case len(*last)+len(name) < 22:
			*last += " · " + name
		default:
			lines = append(lines, name)
		}
	}
	return lines
}

// box is where a group is drawn.
type box struct {
	x, y, height int
	lines        []string
}

// place returns the boxes of the groups and the titles of the rooms, and the size of the picture.
func place(all map[string]group, floor map[string]int) (boxes map[string]box, titles string, width, height int) {
	boxes = map[string]box{}
	heights := make([]int, slices.Max(slices.Collect(maps.Values(floor)))+1)
	for name, g := range all {
		b := box{lines: linesOf(g)}
		b.height = 28 + lineHeight*len(b.lines)
		heights[floor[name]] = max(heights[floor[name]], b.height)
		boxes[name] = b
	}
	tops, top := make([]int, len(heights)), margin+34
	for f, h := range heights {
		tops[f] = top
		top += h + gapY
	}
	height = top - gapY + 2*margin
	var text strings.Builder
	left := margin
	for r, room := range rooms {
		rows, widest := map[int][]string{}, 0
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if all[name].room == r {
				rows[floor[name]] = append(rows[floor[name]], name)
				widest = max(widest, len(rows[floor[name]]))
			}
		}
		wide := widest*(boxWidth+gapX) + gapX
		for f, row := range rows {
			begin := left + (wide-len(row)*(boxWidth+gapX)+gapX)/2
			for i, name := range row {
				b := boxes[name]
				b.x, b.y = begin+i*(boxWidth+gapX), tops[f]
				boxes[name] = b
			}
		}
		fmt.Fprintf(&text, `  <rect class="room" x="%d" y="%d" width="%d" height="%d" rx="10"/><text class="title" x="%d" y="%d">%s</text>`+"\n",
			left, margin, wide, height-2*margin, left+12, margin+20, room)
		left += wide + gapX
	}
	return boxes, text.String(), left, height
}

// drawPackages draws each group of packages below the groups that import it, and an arrow for each import that other
// imports do not imply.
func drawPackages(packages map[string][]string) string {
	all, imports := between(packages)
	boxes, titles, width, height := place(all, floors(all, imports))
	var arrows, drawn strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := boxes[name]
		for _, imported := range imports[name] {
			if reaches(imports, name, imported) {
				continue
			}
			class := "in"
			if all[name].room != all[imported].room {
				class = "out"
			}
			b := boxes[imported]
			fmt.Fprintf(&arrows, `  <path class="%s" d="M%d %dL%d %d"/>`+"\n", class, a.x+boxWidth/2, a.y+a.height, b.x+boxWidth/2, b.y-3)
		}
		fmt.Fprintf(&drawn, `  <rect class="group" x="%d" y="%d" width="%d" height="%d" rx="5"/><text class="name" x="%d" y="%d">%s</text>`+"\n",
			a.x, a.y, boxWidth, a.height, a.x+boxWidth/2, a.y+18, html.EscapeString(all[name].name))
		for i, line := range a.lines {
			fmt.Fprintf(&drawn, `  <text class="packages" x="%d" y="%d">%s</text>`+"\n", a.x+boxWidth/2, a.y+34+i*lineHeight, html.EscapeString(line))
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="13" role="img">
  <title>The packages of Toskose by subject: each subject stands below all that import it</title>
  <style>
    .page { fill: #fff } .room { fill: #f8fafc; stroke: #cbd5e1 } .title { font-weight: 700; fill: #0f172a }
    .group { fill: #fff; stroke: #64748b } .name { text-anchor: middle; font-weight: 600; fill: #0f172a } .packages { text-anchor: middle; font-size: 11px; fill: #475569 }
    path { fill: none; marker-end: url(#a) } .in { stroke: #64748b } .out { stroke: #2563eb; stroke-opacity: .45 }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117 } .room { fill: #161b22; stroke: #30363d } .title, .name { fill: #f0f6fc }
      .group { fill: #0d1117; stroke: #8b949e } .packages { fill: #9ca3af } .in { stroke: #8b949e } .out { stroke: #58a6ff; stroke-opacity: .6 }
    }
  </style>
  <defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0 8 4 0 8z" style="fill:context-stroke;marker-end:none"/></marker></defs>
  <rect class="page" width="%d" height="%d"/>
%s%s%s</svg>
`, width, height, width, height, titles, arrows.String(), drawn.String())
}

func TestThePictureOfThePackagesIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	const file = "../docs/packages.svg"
	imports := imports(t)
	for pkg := range imports {
		if groupOf(pkg).room < 0 {
			t.Fatalf("the picture has no box for %s: add it to a group", pkg)
		}
	}
	picture := drawPackages(imports)
	if *update {
		if err := os.WriteFile(file, []byte(picture), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != picture {
		t.Errorf("%s does not match the imports; redraw it with make golden", file)
	}
}
