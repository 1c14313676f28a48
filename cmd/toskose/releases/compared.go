package releases

import (
	"context"
	"slices"
	"time"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/packager/release"
)

// names are the display names of the targets.
var names = map[release.Target]string{release.Compose: "Compose", release.Swarm: "a Swarm", release.Kubernetes: "Kubernetes"}

// basis is the target that folders are compared for, and why, to be printed after its name.
type basis struct {
	target release.Target
	why    string
}

// compared chooses the target to compare folders for. With one folder, it is the target that
// deploy would choose, since the command compares the folder with the application running there.
func (t *target) compared(ctx context.Context, engine Engine, dirs []string) basis {
	if t.opts.Target != "" {
		return basis{target: release.Target(t.opts.Target)}
	}
	for _, dir := range slices.Backward(dirs) {
		if only := release.TargetOf(dir); only != release.Compose { // the folder has the files of another target
			return basis{target: only}
		}
	}
	at, err := engine.about(ctx)
	noted := func(dir string) bool { return release.ByCompose(dir, at.ID) }
	switch {
	case len(dirs) > 1 && slices.ContainsFunc(dirs, noted):
		return basis{release.Compose, ", as it was deployed"}
	case err != nil:
		return basis{release.Compose, ", which is assumed: the engine does not answer (--target names another)"}
	case at.inSwarm:
		return basis{release.Swarm, ", which the engine is in"}
	}
	return basis{target: release.Compose}
}

// answering is how long an engine may take to say whether it is in a swarm.
const answering = 10 * time.Second

// state is the state of an engine that determines the target.
type state struct {
	ID      string // empty: it does not answer
	inSwarm bool
}

func (e Engine) about(ctx context.Context) (state, error) {
	docker, err := e.Connect()
	if err != nil {
		return state{}, err
	}
	defer docker.Close()
	ctx, cancel := context.WithTimeout(ctx, answering)
	defer cancel()
	info, err := docker.Info(ctx)
	if err != nil {
		return state{}, err
	}
	id, err := deploy.EngineIdentity(ctx, docker, info)
	if err != nil {
		return state{}, err
	}
	return state{id, info.Swarm.LocalNodeState == swarm.LocalNodeStateActive}, nil
}
