// Package volumes copies the volumes of an application to a file and back. It runs a program of the manager's image beside the
// volumes: in a container on an engine, in a pod on a cluster. Its goroutines end before a call returns.
package volumes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Volume is a volume of an application.
type Volume struct {
	Name    string `json:"name"`              // name in the application
	ID      string `json:"id"`                // name on the engine or cluster
	Machine string `json:"machine,omitempty"` // the machine that has the volume, if it is local to one
	Users   []User `json:"users"`             // containers that mount the volume now
	// Elsewhere lists other machines of the swarm on which a container uses a different volume with this name.
	Elsewhere []string `json:"elsewhere,omitempty"`
}

// User is a container or pod that mounts a volume.
type User struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Node    string `json:"node"` // the application's node
	Running bool   `json:"running"`
	Service string `json:"service,omitempty"` // swarm service or Kubernetes workload that keeps the container running
}

// Place is the platform that stores an application's volumes.
type Place interface {
	Copier
	Notes
	// List returns the volumes, sorted by name.
	List(ctx context.Context) ([]Volume, error)
	// Stop stops a container that uses a volume, and Start starts it again.
	Stop(ctx context.Context, u User) error
	Start(ctx context.Context, u User) error
	// Tidy cleans up after killed commands: it removes the containers beside volumes, and starts the containers that Stop has
	// stopped and returns their names. It waits briefly for containers that still run, which exit soon after their command.
	Tidy(ctx context.Context) (started []string, err error)
}

// Copier runs the manager's program beside a volume.
type Copier interface {
	// Save writes the contents of a volume as a tar stream.
	Save(ctx context.Context, v Volume, out io.Writer) error
	// Load replaces the contents of a volume with a tar stream. Recover finishes or undoes an interrupted Load. Both write one
	// tree.Report per line to out.
	Load(ctx context.Context, v Volume, token string, in io.Reader, out io.Writer) error
	Recover(ctx context.Context, v Volume, token string, out io.Writer) error
}

// Notes stores a Note for each volume outside the volume, in the metadata of the engine or cluster.
type Notes interface {
	Note(ctx context.Context, v Volume) (Note, error)
	SetNote(ctx context.Context, v Volume, n Note) error // the zero Note removes the stored one
}

// Note describes a restore that has not ended.
type Note struct {
	Token    string // identifies the restore's folder in the volume
	Restored bool   // the volume has its new data
}

// The commands of the program in the manager's image.
var (
	saving     = []string{"volume", "tar", mounted}
	loading    = []string{"volume", "untar", mounted}
	recovering = []string{"volume", "recover", mounted}
)

// Environment variables of the program: one requests a summary at the end of the stream, the other contains the token of a
// restore. The program of the previous release ignores them.
const (
	wantsSummary = "TOSKOSE_VOLUME_SUMMARY"
	hasToken     = "TOSKOSE_VOLUME_TOKEN" //nolint:gosec // a variable's name, not a credential
)

// labelCopies labels the containers and pods that run the program with the volume's ID.
const labelCopies = "io.toskose.copies"

const mounted = "/volume"

// The capabilities of the program. Saving must read files of any user; loading must also replace such files and set owners,
// modes and capabilities.
var (
	toSave = []string{"DAC_READ_SEARCH"}
	toLoad = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETFCAP"}
)

// errOlder is returned if the manager's image is of an earlier release whose program lacks a feature.
var errOlder = errors.New("the application's manager is of an older toskose")

// ErrNone is returned if an application has no volumes.
var ErrNone = errors.New("it has no volumes")

// Choose returns the named volumes, or all volumes if no names are given.
func Choose(all []Volume, names []string) ([]Volume, error) {
	if len(all) == 0 {
		return nil, ErrNone
	}
	if len(names) == 0 {
		return all, nil
	}
	var chosen []Volume
	for _, name := range names {
		i := slices.IndexFunc(all, func(v Volume) bool { return v.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("it has no volume %q; it has %s", name, strings.Join(namesOf(all), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func namesOf(all []Volume) []string {
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = v.Name
	}
	return names
}

// explained adds the program's output to the error of running it.
func explained(err error, output string) error {
	output = strings.TrimSpace(output)
	switch {
	case err == nil:
		return nil
	case strings.Contains(output, "it is `volume tar FOLDER`"):
		return errOlder
	case strings.Contains(output, "usage:") || strings.HasPrefix(output, "Usage"):
		return errors.New("the application's manager is of an older toskose, which cannot copy volumes: package and deploy the application again")
	case output != "":
		return fmt.Errorf("%w: %s", err, strings.TrimPrefix(output, "toskose-manager: "))
	}
	return err
}
