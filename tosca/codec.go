package tosca

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/toskose/toskose/tosca/diag"
)

// Encode writes an application as indented JSON. The same application gives
// the same bytes.
func Encode(app *Application) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(app); err != nil {
		return nil, fmt.Errorf("cannot encode application %q: %w", app.Name, err)
	}
	return diag.VisibleJSON(b.Bytes()), nil
}
