// Command typecheck checks the types of packages for another operating system, from source. Unlike go vet, it compiles none
// of their dependencies, which takes minutes on a machine without a build cache.
//
//	typecheck GOOS PACKAGE...
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// listed is a package as go list describes it.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	Module     *struct{ Main bool }
}

// checker checks packages in the order of their imports.
type checker struct {
	files   *token.FileSet
	checked map[string]*types.Package
	errs    []error
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: typecheck GOOS PACKAGE...")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, goos string, patterns []string) error {
	packages, err := list(ctx, goos, patterns)
	if err != nil {
		return err
	}
	c := checker{files: token.NewFileSet(), checked: map[string]*types.Package{"unsafe": types.Unsafe}}
	for _, p := range packages {
		if p.ImportPath == "unsafe" {
			continue
		}
		if err := c.check(p); err != nil {
			return err
		}
	}
	return errors.Join(c.errs...)
}

// list returns the packages and all their dependencies. Each package comes after its imports.
func list(ctx context.Context, goos string, patterns []string) ([]listed, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module"}, patterns...)...)
	command.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list for %s: %w", goos, err)
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("decode the output of go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// check checks one package: all of it if it belongs to the main module, otherwise only its declarations. Only errors of the
// main module count.
func (c *checker) check(p listed) error {
	own := p.Module != nil && p.Module.Main
	mode := parser.SkipObjectResolution
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(c.files, filepath.Join(p.Dir, name), nil, mode)
		if err != nil {
			return fmt.Errorf("parse %s: %w", p.ImportPath, err)
		}
		files = append(files, file)
	}
	config := types.Config{
		IgnoreFuncBodies: !own,
		Importer:         imports{c.checked, p.ImportMap},
		Sizes:            types.SizesFor("gc", runtime.GOARCH),
		Error: func(err error) {
			if own {
				c.errs = append(c.errs, err)
			}
		},
	}
	// The error is also passed to Error.
	c.checked[p.ImportPath], _ = config.Check(p.ImportPath, c.files, files, nil)
	return nil
}

// imports resolves the imports of one package to packages that have been checked.
type imports struct {
	checked map[string]*types.Package
	renamed map[string]string
}

func (i imports) Import(path string) (*types.Package, error) {
	if to, ok := i.renamed[path]; ok {
		path = to
	}
	if p := i.checked[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s was not listed before the package that imports it", path)
}
