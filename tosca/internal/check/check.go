// Package check reports violations of TOSCA's rules, and of its recommendations, in
// types and in a resolved service template. It has a file for each subject, changes
// nothing, and starts no goroutine.
package check

import (
	"context"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// Document checks the types of a service template, resolves the template, and checks the
// resulting graph. It returns the error of ctx.
func Document(ctx context.Context, g *resolve.Graph) error {
	if g.Doc.Scope() == nil || (g.Doc.Version == "" && g.Errors() > 0 && g.Topo == nil) {
		return nil // unreadable (already reported)
	}
	g.ReadShort()
	g.ReadSchemas()
	checkTypes(g)
	if g.Topo == nil {
		checkRepositories(g)
		keyword := "topology_template"
		if g.Doc.V2() {
			keyword = "service_template"
		}
		g.Incomplete(diag.Position{File: g.Doc.File}, code.NoTopology, "the file has no %s, so it defines no application", keyword)
		return nil
	}
	if err := g.Resolve(ctx); err != nil {
		return err
	}
	for _, check := range []func(*resolve.Graph){
		checkRepositories, checkNodes, checkRelations, checkEdges, checkGroups, checkPolicies,
		checkSubstitution, checkWorkflows, checkTriggers, warnFilters, checkOutputs, checkUnused,
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		check(g)
	}
	return nil
}

func quote(s string) string { return diag.Quote(s) }
