// Package volumes copies the volumes of an application to a file and back, by a program of
// the manager's image that runs beside them: in a container on an engine, in a pod on a
// cluster. Its goroutines end before a call returns.
package volumes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Volume is one of an application's.
type Volume struct {
	Name    string `json:"name"`              // as the application calls it
	ID      string `json:"id"`                // as the engine or the cluster does
	Machine string `json:"machine,omitempty"` // that has it, where one does
	Users   []User `json:"users"`             // the containers that have it now
	// Elsewhere are machines of a swarm that have another volume of this name, with a
	// container that uses it.
	Elsewhere []string `json:"elsewhere,omitempty"`
}

// User is a container, or a pod, that has a volume.
type User struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Node    string `json:"node"` // of the application
	Running bool   `json:"running"`
	Service string `json:"service,omitempty"` // of the swarm, or workload of the cluster, that keeps it running
}

// Place is where an application's volumes are.
type Place interface {
	Copier
	Notes
	// List returns them by their names.
	List(ctx context.Context) ([]Volume, error)
	// Stop stops a container that uses a volume, and Start starts it again.
	Stop(ctx context.Context, u User) error
	Start(ctx context.Context, u User) error
	// Tidy undoes what killed commands have left: it removes the containers beside volumes, and
	// starts what Stop has stopped, whose names it returns. It waits a moment for containers
	// that still run: they end soon after their command.
	Tidy(ctx context.Context) (started []string, err error)
}

// Copier runs the manager's program beside a volume.
type Copier interface {
	// Save writes what is in a volume to a tar stream.
	Save(ctx context.Context, v Volume, out io.Writer) error
	// Load replaces what is in a volume by the contents of a tar stream, and Recover finishes
	// or undoes a Load that was interrupted. Both write a tree.Report a line to out.
	Load(ctx context.Context, v Volume, token string, in io.Reader, out io.Writer) error
	Recover(ctx context.Context, v Volume, token string, out io.Writer) error
}

// Notes keeps a Note of each volume, outside the volume: where the engine or the cluster has
// its own data.
type Notes interface {
	Note(ctx context.Context, v Volume) (Note, error)
	SetNote(ctx context.Context, v Volume, n Note) error // the zero Note removes it
}

// Note is what is known of a restore that is not at its end.
type Note struct {
	Token    string // by which the restore recognizes its folder in the volume
	Restored bool   // the volume has its new data
}

// The program of the manager's image, and where it has the volume.
var (
	saving     = []string{"volume", "tar", mounted}
	loading    = []string{"volume", "untar", mounted}
	recovering = []string{"volume", "recover", mounted}
)

// What the program's environment has: a summary is to end its stream, and the token of a
// restore. A program of the release before does not read them.
const (
	wantsSummary = "TOSKOSE_VOLUME_SUMMARY"
	hasToken     = "TOSKOSE_VOLUME_TOKEN" //nolint:gosec // the name of a variable
)

// LabelCopies is the label of containers and pods that run the program: the volume's ID.
const LabelCopies = "io.toskose.copies"

const mounted = "/volume"

// The capabilities of the program: to read what is anybody's; to give files owners, modes
// and capabilities, and to replace what is anybody's.
var (
	toSave = []string{"DAC_READ_SEARCH"}
	toLoad = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETFCAP"}
)

// ErrOlder says that the manager's image is of an earlier release, whose program does less.
var ErrOlder = errors.New("the application's manager is of an older toskose")

// ErrNone is why there is nothing to copy.
var ErrNone = errors.New("it has no volumes")

// Choose returns the volumes of some names; of none, all.
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
			return nil, fmt.Errorf("it has no volume %q; there are %s", name, strings.Join(namesOf(all), ", "))
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

// explained adds what the program said to an error of running it.
func explained(err error, said string) error {
	said = strings.TrimSpace(said)
	switch {
	case err == nil:
		return nil
	case strings.Contains(said, "it is `volume tar FOLDER`"):
		return ErrOlder
	case strings.Contains(said, "usage:") || strings.HasPrefix(said, "Usage"):
		return errors.New("the application's manager is of an older toskose, which cannot copy volumes: package and deploy the application again")
	case said != "":
		return fmt.Errorf("%w: %s", err, strings.TrimPrefix(said, "toskose-manager: "))
	}
	return err
}
