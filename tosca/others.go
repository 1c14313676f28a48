package tosca

import (
	"context"
	"slices"

	"github.com/toskose/toskose/tosca/csar"
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// otherProblems reads what TOSCA.meta names as other definitions: templates that
// may stand for nodes. One that is wrong is left aside by whoever looks for one
// (TOSCA 2.0, 17.2.1), so it is a warning, and said of a draft only. What the
// application shares with them was said.
func otherProblems(ctx context.Context, archive *csar.Archive, said diag.List) (diag.List, error) {
	known := map[diag.Diagnostic]bool{}
	for _, d := range said {
		known[d] = true
	}
	var all diag.List
	for _, name := range archive.Meta().Others {
		var found diag.Collector
		docs, err := grammar.Load(ctx, archive, name, &found)
		if err != nil {
			return nil, err
		}
		list := found.List()
		if len(docs) > 0 {
			c := &compiler{archive: archive, draft: true}
			c.Service = resolve.New(archive, docs, resolve.Options{Draft: true, Noun: noun})
			c.Add(list...)
			if _, err := c.compile(ctx); err != nil {
				return nil, err
			}
			list = c.List()
		}
		list = slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return d.Severity != diag.Error || known[d] })
		for _, d := range list {
			known[d] = true
			d.Severity = diag.Warning
			d.Message += ", so the template stands for no node"
			all = append(all, d)
		}
	}
	return all, nil
}
