package recipe

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/source"
	"github.com/toskose/toskose/templates"
)

// Folders writes build contexts to folders, and may be used concurrently. A context is a Dockerfile
// and an archive for each layer, which a builder unpacks with its owners and times. Images with the
// same binary link to one file.
type Folders struct {
	shared source.Cache[string] // paths of layers, by Image.Shared
}

// Write writes the context of an image.
func (w *Folders) Write(ctx context.Context, i *Image, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // they are no secret
		return err
	}
	text, err := i.Dockerfile()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), text, 0o644); err != nil {
		return err
	}
	for at, t := range i.Trees {
		path := filepath.Join(dir, i.archiveName(at))
		create := func() (string, error) { return path, t.WriteFile(ctx, path) }
		if at > 0 || i.Shared == "" {
			_, err = create()
		} else if first, e := w.shared.Get(i.Shared, create); e != nil || first != path {
			err = e
			if e == nil && os.Link(first, path) != nil { // not every file system can
				_, err = create()
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// archiveName returns the name of a layer's file in the build context.
func (i *Image) archiveName(at int) string { return i.layerName(at) + ".tar" }

// Dockerfile returns a Dockerfile with the differences from the base only: each step takes the
// classic builder up to a second.
func (i *Image) Dockerfile() ([]byte, error) {
	health := i.Plan.Health
	if has := i.Base.Config.Config.Healthcheck; has != nil && slices.Equal(has.Test, append([]string{"CMD"}, health...)) {
		health = nil
	}
	start := false // a builder uses the base's start period if the Dockerfile has none
	if has := i.Base.Config.Config.Healthcheck; has != nil {
		start = has.StartPeriod > 0
	}
	own := ""
	if len(i.Trees) == len(layer.Names) {
		own = i.archiveName(0)
	}
	return templates.Render(templates.ToskosedImage, map[string]any{
		"Base": i.Base.Ref, "Signal": i.signal(), "Health": list(health), "Start": start, "Interval": packager.HealthInterval, "Timeout": packager.HealthTimeout, "Retries": packager.HealthRetries,
		"Entry": list(i.Entry), "User": i.User,
		"Own": own, "Files": i.archiveName(len(i.Trees) - 1), "Env": pairs(i.Plan.Env), "Labels": pairs(i.labels()),
	})
}

// pairs returns ENV and LABEL pairs as one line, so that the builder runs them as one step. It
// returns nil without pairs.
func pairs(m map[string]string) []string {
	if len(m) == 0 {
		return nil
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, key+"="+quote(m[key]))
	}
	return []string{strings.Join(out, " ")}
}

var dockerfileQuote = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`)

// quote writes a value that a Dockerfile neither splits nor expands.
func quote(s string) string { return `"` + dockerfileQuote.Replace(s) + `"` }

// list writes words in exec form, which runs no shell; it returns "" without words.
func list(words []string) string {
	if len(words) == 0 {
		return ""
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w) // as JSON has it: these are paths and words of ours
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
