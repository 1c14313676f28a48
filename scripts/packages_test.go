package scripts

import (
	"cmp"
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

func roomOf(pkg string) int {
	top, rest, _ := strings.Cut(pkg, "/")
	switch {
	case pkg == "cmd/toskose" || strings.HasPrefix(pkg, "cmd/toskose/") || top == "templates" || top == "graph":
		top = "packager"
	case top == "internal": // shared by the manager and the packager, and drawn below them
		top = "unit"
	case top == "cmd":
		top = strings.TrimPrefix(rest, "toskose-")
	}
	return slices.Index(rooms, top)
}

// floors returns the distance of each package below the commands. It is greater than the distance of every
// package that imports it.
func floors(imports map[string][]string) map[string]int {
	floor := map[string]int{}
	var sink func(pkg string, to int)
	sink = func(pkg string, to int) {
		if at, ok := floor[pkg]; ok && at >= to {
			return
		}
		floor[pkg] = to
		for _, imported := range imports[pkg] {
			sink(imported, to+1)
		}
	}
	for pkg := range imports {
		sink(pkg, 0)
	}
	for f := 0; f <= slices.Max(slices.Collect(maps.Values(floor))); f++ {
		for r := range rooms {
			var row []string
			for _, pkg := range slices.Sorted(maps.Keys(imports)) {
				if floor[pkg] == f && roomOf(pkg) == r {
					row = append(row, pkg)
				}
			}
			// Packages with the fewest imports move down first.
			slices.SortStableFunc(row, func(a, b string) int { return len(imports[b]) - len(imports[a]) })
			for _, pkg := range row[min(len(row), abreast):] {
				sink(pkg, f+1)
			}
		}
	}
	return floor
}

// reaches reports whether from imports to through another package.
func reaches(imports map[string][]string, from, to string) bool {
	return slices.ContainsFunc(imports[from], func(by string) bool {
		return by != to && (slices.Contains(imports[by], to) || reaches(imports, by, to))
	})
}

const (
	abreast             = 3 // packages of a room on one floor
	boxWidth, boxHeight = 118, 30
	gapX, gapY, margin  = 10, 34, 8
)

// drawPackages draws each package below the packages that import it, and an arrow for each import that other
// imports do not imply.
func drawPackages(imports map[string][]string) string {
	floor := floors(imports)
	type spot struct{ x, y int }
	at := map[string]spot{}
	var boxes, arrows strings.Builder
	left, bottom := margin, 0
	for r, room := range rooms {
		rows := map[int][]string{}
		for pkg := range imports {
			if roomOf(pkg) == r {
				rows[floor[pkg]] = append(rows[floor[pkg]], pkg)
			}
		}
		widest := 0
		for _, row := range rows {
			widest = max(widest, len(row))
		}
		width := widest*(boxWidth+gapX) + gapX
		for f, row := range rows {
			slices.Sort(row)
			begin := left + (width-len(row)*(boxWidth+gapX)+gapX)/2
			for i, pkg := range row {
				at[pkg] = spot{begin + i*(boxWidth+gapX), margin + 34 + f*(boxHeight+gapY)}
				bottom = max(bottom, at[pkg].y+boxHeight)
			}
		}
		fmt.Fprintf(&boxes, `  <rect class="room" x="%d" y="%d" width="%d" height="BOTTOM" rx="10"/><text class="title" x="%d" y="%d">%s</text>`+"\n",
			left, margin, width, left+12, margin+20, room)
		left += width + gapX
	}
	for _, pkg := range slices.SortedFunc(maps.Keys(imports), cmp.Compare) {
		for _, imported := range imports[pkg] {
			if reaches(imports, pkg, imported) {
				continue
			}
			class := "in"
			if roomOf(pkg) != roomOf(imported) {
				class = "out"
			}
			a, b := at[pkg], at[imported]
			fmt.Fprintf(&arrows, `  <path class="%s" d="M%d %dL%d %d"/>`+"\n", class, a.x+boxWidth/2, a.y+boxHeight, b.x+boxWidth/2, b.y-3)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		name := pkg
		for _, prefix := range []string{rooms[roomOf(pkg)] + "/", "cmd/"} {
			name = strings.TrimPrefix(name, prefix)
		}
		fmt.Fprintf(&boxes, `  <rect class="package" x="%d" y="%d" width="%d" height="%d" rx="5"/><text x="%d" y="%d">%s</text>`+"\n",
			at[pkg].x, at[pkg].y, boxWidth, boxHeight, at[pkg].x+boxWidth/2, at[pkg].y+boxHeight/2+4, html.EscapeString(name))
	}
	rooms, packages, _ := strings.Cut(boxes.String(), `  <rect class="package"`)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="13" role="img">
  <title>The packages of Toskose: each stands below all that import it</title>
  <style>
    .room { fill: #f8fafc; stroke: #cbd5e1 } .title { font-weight: 700; fill: #0f172a }
    .package { fill: #fff; stroke: #64748b } .package + text { text-anchor: middle; fill: #0f172a }
    path { fill: none; marker-end: url(#a) } .in { stroke: #64748b } .out { stroke: #2563eb; stroke-opacity: .45 }
  </style>
  <defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0 8 4 0 8z" style="fill:context-stroke;marker-end:none"/></marker></defs>
  <rect width="%d" height="%d" fill="#fff"/>
%s%s  <rect class="package"%s</svg>
`, left, bottom+2*margin, left, bottom+2*margin,
		strings.ReplaceAll(rooms, "BOTTOM", strconv.Itoa(bottom)), arrows.String(), packages)
}

func TestThePictureOfThePackagesIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	const file = "../docs/packages.svg"
	imports := imports(t)
	for pkg := range imports {
		if roomOf(pkg) < 0 {
			t.Fatalf("the picture has no column for %s", pkg)
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
