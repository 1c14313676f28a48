//go:build swarm

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/internal/freeport"
)

// swarmDeployment is an attachedDeployment on a swarm.
type swarmDeployment struct {
	*composed
	engines map[string]*client.Client // by service
	port    string                    // of the manager
}

// task returns the one running container of a service.
func (s swarmDeployment) task(t *testing.T, service string) (id string) {
	t.Helper()
	eventually(t, "one container of "+service+" runs", func() bool {
		all := containersOf(t, s.engines[service], s.name, service)
		if len(all) == 1 {
			id = all[0]
		}
		return len(all) == 1
	})
	return id
}

func (s swarmDeployment) within(t *testing.T, service, script string, args ...string) string {
	t.Helper()
	return inContainer(t, s.engines[service], s.task(t, service), append([]string{"sh", "-c", script, "sh"}, args...)...)
}

func (s swarmDeployment) incarnation(t *testing.T, service string) string {
	t.Helper()
	found, err := s.engines[service].ContainerInspect(t.Context(), s.task(t, service))
	if err != nil {
		t.Fatal(err)
	}
	return found.ID + " " + found.State.StartedAt
}

func (s swarmDeployment) toskose(t *testing.T, args ...string) result {
	t.Helper()
	return commandWith(t, s.env, s.dir, "toskose", append(args, "--manager", "https://"+s.managerOfStack(t)+":"+s.port)...)
}

// TestTheProgramsOfAttachedServicesRecoverOnASwarmOfSeveralNodes from each fault. The services are on different nodes.
func TestTheProgramsOfAttachedServicesRecoverOnASwarmOfSeveralNodes(t *testing.T) {
	registries := strings.Fields(os.Getenv("TOSKOSE_REGISTRIES"))
	if len(registries) == 0 {
		t.Fatal("TOSKOSE_REGISTRIES names no registry that all nodes of the swarm reach")
	}
	nodes := swarmNodes(t, dockerEngine(t))
	s := swarmDeployment{engines: map[string]*client.Client{}, port: fmt.Sprint(freeport.Find(t))}
	pinned := func(node int) string {
		return "    deploy: {endpoint_mode: dnsrr, placement: {constraints: [node.id == " + nodes[node].ID + "]}}\n"
	}
	var services []string
	for i, app := range attachable {
		engine, err := client.NewClientWithOpts(client.WithHost(engineOf(t, nodes[i%3])), client.WithAPIVersionNegotiation())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { engine.Close() })
		s.engines[app.name] = engine
		services = append(services, app.name)
	}
	s.composed = newComposedOf(t, "version: \"3.8\"\n"+attachedServices(registries[0]+"/", func(service string) string { return pinned(slices.Index(services, service) % 3) }))
	s.compose(t, nil, "build", "-q")
	s.composed.toskose(t, "attach", "--tls", "--port", s.port)
	third := filepath.Join(s.dir, "third.yml")
	write(t, third, fmt.Sprintf("version: \"3.8\"\nservices:\n  toskose-manager:\n    image: %s/%s-manager\n    deploy: {placement: {constraints: [node.id == %s]}}\n", registries[0], s.name, nodes[0].ID))
	files := []string{filepath.Join(s.dir, "compose.toskose.yml"), third}
	s.compose(t, files, "build", "-q", "toskose-manager")
	for _, image := range append(services, "manager") {
		must(t, "", found(t, "docker"), "push", "-q", registries[0]+"/"+s.name+"-"+image)
	}
	s.deployStack(t, files...)
	eventually(t, "the manager runs", func() bool { return s.managerOfStack(t) != "" })
	attachedProgramsRecover(t, s, "attached-faults-swarm.md")
}
