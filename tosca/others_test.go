package tosca_test

import (
	"strings"
	"testing"

	"github.com/toskose/toskose/tosca"
)

// TOSCA 2.0, 17.2.1: what cannot stand for a node is left aside.
func TestOtherDefinitionsThatAreWrongAreWarningsOfADraft(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"TOSCA-Metadata/TOSCA.meta": "CSAR-Version: 2.0\nCreated-By: a test\nEntry-Definitions: app.yaml\nOther-Definitions: good.yaml bad.yaml broken.yaml\n",
		"types.yaml":                secondVersion + "node_types: {Animal: {}}\n",
		"app.yaml":                  secondVersion + "imports: [types.yaml]\nservice_template: {node_templates: {a: {type: Animal, directives: [substitute]}}}\n",
		"good.yaml":                 secondVersion + "imports: [types.yaml]\nservice_template: {substitution_mappings: {node_type: Animal}, node_templates: {b: {type: Animal}}}\n",
		"bad.yaml":                  secondVersion + "imports: [types.yaml]\nservice_template: {substitution_mappings: {node_type: Animal}, node_templates: {b: {type: Anmal}}}\n",
		"broken.yaml":               secondVersion + "service_template: {\n",
	}
	app, list, err := tosca.Load(t.Context(), zipped(t, files), tosca.Options{Draft: true})
	if err != nil || app == nil {
		t.Fatalf("refused: %v", err)
	}
	var got []string
	for _, d := range list {
		if d.File != "app.yaml" {
			got = append(got, d.Code+" "+d.Error())
		}
	}
	want := []string{
		`TOSCA-TYPE-001 bad.yaml:3:91: warning: node template "b": unknown node type "Anmal", so the template stands for no node (did you mean "Animal"?)`,
		"TOSCA-YAML-001 broken.yaml:2:19: warning: not YAML: did not find expected node content, so the template stands for no node",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
