package engine

import (
	"io"
	"strings"

	"github.com/docker/docker/pkg/stdcopy"
)

// EndlessRestarts is the failure of a service whose containers exit with 0 and are restarted every time.
const EndlessRestarts = "exits successfully and is restarted every time; a container that is expected to exit needs another restart_policy.condition in toskose.yml"

// ReadLog reads a log stream of the engine to its end.
func ReadLog(r io.ReadCloser) (string, error) {
	defer r.Close()
	var out strings.Builder
	_, err := stdcopy.StdCopy(&out, &out, r)
	return out.String(), err
}
