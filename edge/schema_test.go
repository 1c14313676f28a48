package edge_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/internal/docs"
)

func TestTheSchemaHasTheKeysOfTheDocument(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(docs.FieldKeys(reflect.TypeFor[edge.Document]()), docs.SchemaKeys(t, "cluster.schema.json")); diff != "" {
		t.Errorf("the document (-) and the schema (+):\n%s", diff)
	}
}

func TestEveryClusterOfTheDocumentationIsRead(t *testing.T) {
	t.Parallel()
	for _, b := range docs.Of(t, docs.Cluster) {
		if _, err := edge.Parse("cluster.yaml", []byte(b.Text)); err != nil {
			t.Errorf("%s:%d: %v\n%s", b.Page, b.Line, err, b.Text)
		}
	}
}
