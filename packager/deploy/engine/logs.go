package engine

import (
	"io"
	"strings"

	"github.com/docker/docker/pkg/stdcopy"
)

// Endless is what is wrong with a container that ends without an error where that is not
// to be.
const Endless = "ends, and is started again and again; what is to end wants another restart_policy.condition in toskose.yml"

// ReadLog reads a log of the engine's to its end.
func ReadLog(r io.ReadCloser) (string, error) {
	defer r.Close()
	var out strings.Builder
	_, err := stdcopy.StdCopy(&out, &out, r)
	return out.String(), err
}
